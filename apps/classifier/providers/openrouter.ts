/**
 * Sends a question to an OpenRouter-compatible API. The signal covers the whole call, also a body that arrives byte by byte. A redirect
 * is not followed, because the key is for a single address. At most 1 MB of the answer is read.
 *
 * Invariant: the result, or the thrown error, contains nothing of the request: neither the key nor the document.
 */
import type { Message } from '../prompt.ts'
import type { Received } from './answer.ts'

export interface OpenRouter {
  key: string
  baseUrl: string
}

/** The model if neither the project nor OPENROUTER_MODEL names a model: cheap, and writes JSON on request. */
export const defaultModel = 'openai/gpt-4o-mini'

const mostTokens = 800
const mostBytes = 1024 * 1024

/** Throws only the signal's reason, after an abort. */
export async function askOpenRouter(
  { key, baseUrl }: OpenRouter,
  { model, messages }: { model: string; messages: Message[] },
  signal: AbortSignal,
): Promise<Received> {
  signal.throwIfAborted()
  const body = JSON.stringify({
    model,
    messages,
    temperature: 0,
    max_tokens: mostTokens,
    response_format: { type: 'json_object' },
  })
  try {
    const response = await fetch(`${baseUrl.replace(/(?<!\/)\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' },
      body,
      redirect: 'manual',
      signal,
    })
    const { status, headers } = response
    const text = await readBounded(response)
    return text === undefined ? { broken: 'too long' } : { status, header: name => headers.get(name), body: text }
  } catch (error) {
    signal.throwIfAborted()
    return { broken: 'link', code: codeOf(error) }
  }
}

async function readBounded(response: Response): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest.
  for await (const piece of response.body ?? []) {
    size += piece.byteLength
    if (size > mostBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Only the code: the message of such an error may contain parts of the request. */
function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  return String(cause?.code ?? code ?? 'unknown')
}
