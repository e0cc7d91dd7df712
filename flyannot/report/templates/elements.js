// --- what all parts of the page use ---
const Page = (() => {
  const byId = (id) => document.getElementById(id);
  // all groups in short, written by flyannot/report/page.py
  const index = JSON.parse(byId("index").textContent);
  const chosen = {
    // what the reader has chosen
    // the groups that the list has: { g, terms, rank, isPart }, terms being those that were looked for
    listed: [],
    current: -1, // the group on the right
    filling: Promise.resolve(), // until its details are there
    alike: -1, // the group whose look-alikes are listed
    beside: [], // keys of the groups side by side
    sorted: "", // the column by which the scores are sorted, such as "2-descending"
    curves: "", // the identifier of the term whose curves are shown
  };
  const counted = (number, one, many = one + "s") =>
    number.toLocaleString("en") + " " + (number === 1 ? one : many);
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false)
        element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  return { byId, index, chosen, counted, make };
})();
