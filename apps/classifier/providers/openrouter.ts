/** Sends a question to an OpenRouter-compatible API. At most 1 MB of the answer is read. */
import { callProvider, megabytes, type ProviderAnswer } from 'retoma'
import type { Message } from '../prompt.ts'

export interface OpenRouter {
  key: string
  baseUrl: string
}

/** The model if neither the project nor OPENROUTER_MODEL names a model: cheap, and writes JSON on request. */
export const defaultModel = 'openai/gpt-4o-mini'

const mostTokens = 800

/** `signal` ends the call before `timeout`: the step of the answer has its own time limit. Throws only the reason of the signal. */
export function askOpenRouter(
  { key, baseUrl }: OpenRouter,
  { model, messages }: { model: string; messages: Message[] },
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  return callProvider(
    {
      baseUrl,
      path: '/chat/completions',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({
        model,
        messages,
        temperature: 0,
        max_tokens: mostTokens,
        response_format: { type: 'json_object' },
      }),
      maxBytes: megabytes(1),
    },
    signal,
  )
}
