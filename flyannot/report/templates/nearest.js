// --- what looks alike: the pictures of other groups, taken from where these lie ---
if (list) {
  const numberOfKey = new Map(index.groups.map((group, g) => [keyOf(group), g]));
  const fill = (place) => {
    const g = numberOfKey.get(place.dataset.near);
    if (g === undefined) return;
    detailsOf(g).then((details) => {
      const found = details.querySelector(".images img");
      if (found) place.replaceWith(make("img", { class: "thumb", alt: "", width: 110, height: 44, src: found.getAttribute("src") }));
    }).catch(() => {});
  };
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) {
      if (node.querySelectorAll) node.querySelectorAll(".thumb[data-near]").forEach(fill);
    }
  }).observe(list, { childList: true, subtree: true });
}
