// The WebSocket connection to a game, which reconnects after a loss, and HTTP requests.

const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 5000;

export class Connection {
  /** `onMessage` receives every message of the server, and {type: "lost"} after a loss. */
  constructor(game, tokens, onMessage) {
    this.game = game;
    this.tokens = tokens;
    this.onMessage = onMessage;
    this.retryDelay = MIN_RETRY_MS;
    // Whether the connection must not be opened again.
    this.isFinal = false;
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/play/${this.game}`);
    this.socket.onopen = () => this.socket.send(JSON.stringify({ tokens: this.tokens }));
    this.socket.onmessage = (event) => this.receive(JSON.parse(event.data));
    this.socket.onclose = () => this.reconnect();
  }

  receive(message) {
    if (message.type === "welcome") this.retryDelay = MIN_RETRY_MS;
    if (message.final) this.isFinal = true;
    if (!this.isClosed) this.onMessage(message);
  }

  reconnect() {
    if (this.isFinal || this.isClosed) return;
    this.onMessage({ type: "lost" });
    setTimeout(() => this.isClosed || this.open(), this.retryDelay);
    this.retryDelay = Math.min(2 * this.retryDelay, MAX_RETRY_MS);
  }

  send(command, fields = {}) {
    if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ command, ...fields }));
    }
  }

  close() {
    this.isClosed = true;
    this.socket.close();
  }
}

/** Return the JSON content of a response: of a POST request if there is a body, else of GET. */
export async function fetchJson(path, body, signal) {
  const options = body && { method: "POST", body: JSON.stringify(body), signal };
  const response = await fetch(path, options);
  const content = await response.json();
  if (!response.ok) throw new Error(content.error);
  return content;
}
