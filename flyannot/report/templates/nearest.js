// --- Similar groups: the image of another gene that matched, taken from the chunk of that gene. ---
const LookAlikes = (() => {
  const { numberOfKey, detailsOf, listAgain, list, answering } = Groups;
  const { make, byId, chosen, index } = Page;

  function startNearest(section) {
    for (const place of section.querySelectorAll(".thumb[data-near]")) {
      const g = numberOfKey.get(place.dataset.near);
      if (g !== undefined)
        detailsOf(g)
          .then((details) => {
            const matched = Array.from(details.querySelectorAll("figure")).find(
              (one) => one.dataset.image === place.dataset.image,
            );
            place.replaceWith(
              make("img", {
                class: "thumb",
                alt: "",
                width: 110,
                height: 44,
                src: matched.querySelector("img").getAttribute("src"),
              }),
            );
          })
          .catch(() => {});
    }
    const select = section.querySelector(".nearest .asked");
    if (!select) return;
    const look = index.groups[chosen.current].alike.map((g) => index.groups[g]);
    const offer = (asked, says, n) =>
      select.append(make("option", { value: asked }, says + " (" + n + ")"));
    const found = (what) =>
      look.map((group) => answering(group, chosen.current, what)).filter((terms) => terms.length);
    function offerTerms(what, says, ends, ofGroups) {
      const terms = ofGroups.flat();
      for (const term of [...new Set(terms)].sort())
        offer(what + " " + term, says + term + ends, terms.filter((one) => one === term).length);
    }
    const lacking = found("lacks");
    select.append(make("option", { value: "" }, "\u2026"));
    if (look.length) offer("all", "look like it", look.length);
    if (lacking.length) offer("lacks", "lack any of its terms", lacking.length);
    offerTerms("lacks", "lack ", "", lacking);
    offerTerms("has", "have ", ", which it lacks", found("has"));
    select.parentElement.hidden = select.options.length < 2;
    if (chosen.alike === chosen.current) select.value = chosen.asked;
    select.addEventListener("change", () => {
      byId("groups-which").value = select.value ? "alike" : "all";
      if (select.value) byId("groups-search").value = ""; // the list takes the place of the search
      chosen.alike = select.value ? chosen.current : -1;
      chosen.asked = select.value || "lacks";
      listAgain(false);
      Address.remember();
      byId("groups-count").focus({ preventScroll: true });
      if (list.getBoundingClientRect().bottom < 0) byId("review").scrollIntoView();
    });
  }

  return { startNearest };
})();
