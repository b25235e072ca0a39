// The connection to one game: it is made again when it is lost, and tells what comes.

export class Connection {
  constructor(game, tokens, hear) {
    this.game = game;
    this.tokens = tokens;
    this.hear = hear;
    this.pause = 250;
    this.isOver = false;
    this.open();
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/play/${this.game}`);
    this.socket.onopen = () => this.socket.send(JSON.stringify({ tokens: this.tokens }));
    this.socket.onmessage = (event) => this.take(JSON.parse(event.data));
    this.socket.onclose = () => this.lose();
  }

  take(message) {
    if (message.type === "welcome") this.pause = 250;
    if (message.final) this.isOver = true;
    if (!this.isClosed) this.hear(message);
  }

  lose() {
    if (this.isOver || this.isClosed) return;
    this.hear({ type: "lost" });
    setTimeout(() => this.isClosed || this.open(), this.pause);
    this.pause = Math.min(2 * this.pause, 5000);
  }

  ask(what, values = {}) {
    if (this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ do: what, ...values }));
    }
  }

  close() {
    this.isClosed = true;
    this.socket.close();
  }
}

export async function fetched(path, body, signal) {
  const options = body && { method: "POST", body: JSON.stringify(body), signal };
  const answer = await fetch(path, options);
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}
