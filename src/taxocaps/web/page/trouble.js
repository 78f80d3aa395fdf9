// What the pages do about errors, and how they ask for the token of the server.

import { find, say } from "./dom.js";
import { keepToken, ServerError } from "./server.js";

export function showTrouble(error) {
  if (error instanceof ServerError && error.status === 401) {
    const isFirst = find("token-form").hidden;
    find("token-form").hidden = false;
    find("token").focus();
    if (isFirst) return;  // no wrong token has been entered yet
  }
  say(find("error"), error.message);
}

// Has `start` try again with each token that is entered; `fail` is told why it was in vain.
export function takeTokens(start, fail) {
  find("token-form").addEventListener("submit", async event => {
    event.preventDefault();
    try {
      keepToken(find("token").value.trim());
      await start();
      find("token-form").hidden = true;
      say(find("error"));
    } catch (error) { fail(error); }
  });
}
