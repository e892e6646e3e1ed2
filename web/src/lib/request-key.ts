/** A new key for a request that creates something. A repeated request with the same key gets the first answer. */
export const newRequestKey = (): string =>
  // Not randomUUID: a page without TLS on another host than loopback lacks it.
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
