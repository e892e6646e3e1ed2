/** An answer in JSON. Made of a text: the server then sends it without a stream in between, and knows its length (answer-budget.ts). */
export function json(value: unknown, status: number, headers: Headers): Response {
  return jsonText(JSON.stringify(value), status, headers)
}

export function jsonText(text: string, status: number, headers: Headers): Response {
  headers.set('content-type', 'application/json')
  headers.set('content-length', String(Buffer.byteLength(text)))
  return new Response(text, { status, headers })
}
