const counted = (number, one, many = one + "s") => number.toLocaleString("en") + " " + (number === 1 ? one : many);
const byId = (id) => document.getElementById(id);
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}
