/* Pages opened from disk may not start a Worker. The search needs one, so it gets a hidden frame that looks like a Worker from either side. */
if (location.protocol === "file:") {
  let count = 0;
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const name = `from-frame-${(count += 1)}`;
      window.addEventListener(name, (event) => {
        const message = new MessageEvent("message", { data: event.detail });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      this.ready = new Promise((resolve) => {
        inner.workerIsReady = resolve;
      });
      inner.document.open();
      inner.document.write(`<!doctype html><body><script>
        self.postMessage = (data) => parent.dispatchEvent(new parent.CustomEvent("${name}", { detail: data }));
        self.importScripts = (...urls) => Promise.all(urls.map((url) => new Promise((resolve) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = resolve;
          document.body.appendChild(script);
        })));
      </` + `script><script src="${url}" onload="workerIsReady()"></` + `script>`);
      inner.document.close();
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
