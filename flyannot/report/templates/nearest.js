// --- what looks alike: the image of another gene that matched, taken from where it lies ---
const LookAlikes = (() => {
  const { numberOfKey, detailsOf, listAgain, list } = Groups;
  const { make, byId, chosen } = Page;

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
    const all = section.querySelector(".nearest button");
    all?.addEventListener("click", () => {
      byId("groups-which").value = "alike";
      chosen.alike = chosen.current;
      listAgain(false);
      Address.remember();
      byId("groups-count").focus({ preventScroll: true });
      if (list.getBoundingClientRect().bottom < 0) byId("review").scrollIntoView();
    });
  }

  return { startNearest };
})();
