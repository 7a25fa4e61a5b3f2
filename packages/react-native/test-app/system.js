// What React Native and the phone bring along, for engines that have none of it. `answer` stands for the network: it gets method,
// address and body of a request, and returns status and text.
globalThis.makeSystem = (url, answer) => {
  let drawn = 0;
  let nowMs = 1_700_000_000_000;
  const stored = new Map();
  const secured = new Map();

  globalThis.fetch = async (address, { method = 'GET', body = null }) => {
    const { status, text } = await answer(method, address, body);
    const ok = status >= 200 && status < 300;
    return { ok, status, headers: { get: () => null }, text: async () => text, json: async () => JSON.parse(text) };
  };
  globalThis.XMLHttpRequest = requestsOver(answer);

  return {
    url,
    nowMs: () => nowMs++,
    after,
    randomBytes: (count) => Uint8Array.from({ length: count }, () => (drawn++ * 167 + 13) % 256),
    storage: {
      getAllKeys: async () => [...stored.keys()],
      getMany: async (keys) => Object.fromEntries(keys.map((key) => [key, stored.get(key) ?? null])),
      setMany: async (entries) => {
        for (const [key, value] of Object.entries(entries)) stored.set(key, value);
      },
      removeMany: async (keys) => {
        for (const key of keys) stored.delete(key);
      },
    },
    items: {
      get: async (name) => secured.get(name) ?? null,
      set: async (name, value) => void secured.set(name, value),
      delete: async (name) => void secured.delete(name),
    },
  };
};

/** Pauses are over at once, and limits of time never come. */
function after(ms, callback) {
  let isCancelled = ms > 5_000;
  setTimeout(() => {
    if (!isCancelled) callback();
  }, 0);
  return () => {
    isCancelled = true;
  };
}

/** Returns an `XMLHttpRequest` that tells of an answer in parts. */
function requestsOver(answer) {
  return class {
    readyState = 0;
    status = 0;
    responseText = '';

    open(method, url) {
      this.method = method;
      this.url = url;
    }

    setRequestHeader() {}

    getResponseHeader() {
      return null;
    }

    abort() {
      this.isAborted = true;
    }

    send() {
      answer(this.method, this.url, null).then(({ status, text }) => {
        this.status = status;
        this.giveFrom(text, 0);
      });
    }

    giveFrom(text, at) {
      if (this.isAborted) return;
      const end = at + 10_000;
      const isComplete = end >= text.length;
      this.readyState = isComplete ? 4 : 3;
      this.responseText = text.slice(0, end);
      this.onreadystatechange?.();
      if (isComplete) return this.onload?.();
      this.onprogress?.();
      setTimeout(() => this.giveFrom(text, end), 0);
    }
  };
}

globalThis.console ??= { log: print, warn: print, error: print };

globalThis.queueMicrotask ??= (callback) => void Promise.resolve().then(callback);

globalThis.AbortController ??= class {
  constructor() {
    const listeners = new Set();
    this.signal = {
      aborted: false,
      reason: undefined,
      listeners,
      addEventListener: (_, listener) => listeners.add(listener),
      removeEventListener: (_, listener) => listeners.delete(listener),
    };
  }

  abort(reason) {
    const { signal } = this;
    if (signal.aborted) return;
    Object.assign(signal, { aborted: true, reason });
    for (const listener of [...signal.listeners]) listener();
  }
};

globalThis.URL ??= class {
  constructor(text) {
    const [, protocol, pathname = '/'] = /^(https?:)\/\/[\w.:-]+(\/[^?#]*)?/.exec(text) ?? [];
    if (protocol === undefined) throw new TypeError(`invalid URL: ${text}`);
    Object.assign(this, { protocol, pathname, username: '', password: '', search: '', hash: '' });
  }
};

globalThis.TextEncoder ??= class {
  encode(text) {
    return Uint8Array.from(unescape(encodeURIComponent(text)), (unit) => unit.charCodeAt(0));
  }
};

// Hermes has it since React Native 0.72; its last program with a shell is older.
Array.prototype.at ??= function at(index) {
  return this[index < 0 ? this.length + index : index];
};
