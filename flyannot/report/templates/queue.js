// --- the two lists for curators: what to look at first, and curated terms to check ---
function isOnList(one, name) { return one[LIST] === index.lists.indexOf(name); }
function onList(group, name) { return [...group[TERMS], ...group[ANSWERED_NO]].filter((one) => isOnList(one, name)); }
function hasLooks(group) { return onList(group, "look").length > 0 || group[UNLIKE] > 0; }
function worthOfLook(group) { // of one of which nothing is predicted, until it has a verdict, how unlike those before it is
  const worth = worthOf(onList(group, "look").filter((one) => !isReviewed(group, one)));
  return worth || (group[UNLIKE] && !keysOfGroup(group).some((key) => verdicts.has(key)) ? group[UNLIKE] : 0);
}
function worthOf(terms) { return terms.reduce((sum, one) => sum + one[WORTH], 0); }
function listInUse() { // which of the two the list of genes shows now, or nothing
  if (byId("groups-which").value === "doubted") return "check";
  return byId("groups-order").value === "look" ? "look" : "";
}
const isNext = (row) => row.dataset.queue === listInUse() && !row.classList.contains("reviewed");
