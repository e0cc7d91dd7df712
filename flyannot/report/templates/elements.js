// --- What all parts of the page use. ---
const Page = (() => {
  const byId = (id) => document.getElementById(id);
  // A summary of all groups, written by flyannot/report/page.py.
  const index = JSON.parse(byId("index").textContent);
  // groups of the list: { g, terms, rank, isPart }, where `terms` were searched for
  const chosen = {
    listed: [],
    current: -1, // number of the group on the right
    filling: Promise.resolve(), // resolves when its details are shown
    alike: -1, // number of the group whose look-alikes are listed
    asked: "lacks", // which of them: "lacks" or "has", and a term after a space for this term only
    ticked: new Set(), // numbers of groups
    beside: [], // keys of the groups that are side by side
    sorted: "", // the column by which the scores are sorted, such as "2-descending"
  };
  const counted = (number, one, many = one + "s") =>
    number.toLocaleString("en") + " " + (number === 1 ? one : many);
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false)
        element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  return { byId, index, chosen, counted, make };
})();
