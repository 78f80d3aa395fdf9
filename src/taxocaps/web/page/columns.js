// Which columns of a table are used: those that the server recognised, or others that a person chooses.

import { find, make } from "./dom.js";

// Shows the columns of a file as `readFiles` gives them; none hides the choice. `choose` is called with { text_fields, id_field }.
export function showColumns({ fields, text_fields, id_field }, choose) {
  const isKnown = text_fields.length > 0;
  find("columns").hidden = !fields.length;
  find("columns").open = !isKnown;
  find("columns-used").textContent = isKnown ? `Text from ${text_fields.join(" and ")}` : "Which columns make the text?";
  find("text-columns").replaceChildren(...fields.map(name => {
    const box = make("input", { type: "checkbox", value: name });
    box.checked = text_fields.includes(name);
    return make("label", {}, box, " ", name);
  }));
  find("id-column").replaceChildren(make("option", { value: "" }, "none"), ...fields.map(name => make("option", { value: name }, name)));
  find("id-column").value = id_field ?? "";
  find("use-columns").onclick = () => choose({
    text_fields: [...find("text-columns").querySelectorAll(":checked")].map(box => box.value),
    ...(find("id-column").value ? { id_field: find("id-column").value } : {}),
  });
}
