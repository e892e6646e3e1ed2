/**
 * Makes a JSON response from a text, so that the server sends the body without a stream in between and knows the length
 * (response-budget.ts).
 */
export function json(value: unknown, status: number, headers: Headers): Response {
  return jsonText(JSON.stringify(value), status, headers)
}

export function jsonText(text: string, status: number, headers: Headers): Response {
  headers.set('content-type', 'application/json')
  headers.set('content-length', String(Buffer.byteLength(text)))
  return new Response(text, { status, headers })
}
