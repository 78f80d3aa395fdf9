// Requests to the server of this page, with errors as messages for people.

const TOKEN = "taxocaps-token";

export class ServerError extends Error {
  constructor(message, status = 0, retryAfter = 1) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;  // seconds
  }
}

// The session's storage ends with the tab, and other sites cannot read it.
export function keepToken(token) {
  // Other characters do not fit into a header, and the browser would not even send the request.
  if (!/^[!-~]+$/.test(token)) throw new ServerError("A token has only letters, digits and signs of ASCII, and no spaces.", 401);
  sessionStorage.setItem(TOKEN, token);
}

// Paths are relative, so that the page works below any prefix that a proxy puts before it.
export async function ask(path, body, signal) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server cannot be reached. Is it still running?");
  }
  const content = await answer.json().catch(error => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (!answer.ok) throw new ServerError(inWords(answer.status, content.error), answer.status, Number(answer.headers.get("Retry-After")) || 1);
  return content;
}

function inWords(status, error) {
  if (status === 401) return "The server does not accept this token.";
  if (!error) return `The server answered with status ${status}.`;
  const where = error.field ? ` (${error.field})` : "";
  const isName = error.message.split(/[ ,:]/)[0].includes(".");  // of a file
  return `${isName ? error.message[0] : error.message[0].toUpperCase()}${error.message.slice(1)}${where}.`;
}

// Runs one task at a time: a second call cancels the first.
export function replacing() {
  let current = null;
  return async task => {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      return await task(mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return undefined;
      throw error;
    }
  };
}
