// --- An enlarged image with its map, which a slider fades. ---
const Enlarged = (() => {
  const { list, pane } = Groups;
  const { make, byId } = Page;

  let around = []; // pictures of the group that is shown
  let shown = 0;

  function copyOf(canvas) {
    const copy = canvas.cloneNode();
    copy.getContext("2d").drawImage(canvas, 0, 0);
    return copy;
  }
  function enlarge(to) {
    shown = (to + around.length) % around.length;
    const embryo = around[shown];
    const picture = embryo.querySelector("img");
    const canvas = embryo.querySelector("canvas");
    const large = make("img", { src: picture.getAttribute("src"), alt: picture.alt });
    byId("enlarged-title").textContent = picture.alt;
    byId("enlarged")
      .querySelector(".embryo")
      .replaceChildren(large, ...(canvas ? [copyOf(canvas)] : []));
    byId("enlarged").querySelector(".embryo").classList.toggle("mapped", Boolean(canvas));
    byId("enlarged").querySelector(".embryo").style.cssText = embryo.style.cssText;
    byId("enlarged").querySelector(".embryo").dataset.turned = embryo.dataset.turned || "";
    byId("map-opacity").disabled = !canvas;
    for (const id of ["enlarged-previous", "enlarged-next"]) byId(id).disabled = around.length < 2;
  }
  function startEnlarging(section) {
    for (const embryo of section.querySelectorAll(".embryo:has(img)")) {
      embryo.append(
        make(
          "button",
          { type: "button", class: "enlarge" },
          "Enlarge",
          make("span", { class: "unseen" }, " " + embryo.querySelector("img").alt),
        ),
      );
    }
  }
  if (list) {
    pane.addEventListener("click", (event) => {
      const embryo = event.target.closest(".embryo:has(img)");
      if (!embryo || event.target.closest("button.turn")) return;
      around = Array.from(embryo.closest(".inside").querySelectorAll(".embryo:has(img)"));
      enlarge(around.indexOf(embryo));
      byId("enlarged").showModal();
    });
    byId("enlarged-previous").addEventListener("click", () => enlarge(shown - 1));
    byId("enlarged-next").addEventListener("click", () => enlarge(shown + 1));
  }

  return { startEnlarging };
})();
