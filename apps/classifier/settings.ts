/** Defines the environment variables of the classifier, and reads them. */
import { readSystemSettings, settingChecks } from 'retoma'
import type { OpenRouterOptions } from './jobs.ts'

const { text, webUrl, wholeNumber } = settingChecks

/** @public for scripts/docs */
export const settings = {
  OPENROUTER_API_KEY: {
    meaning: "Key of OpenRouter, the classifier's AI",
    absent: 'simulated by a local keyword classifier',
    secret: true,
    read: text,
  },
  OPENROUTER_MODEL: { meaning: 'Model asked of OpenRouter', absent: 'one we choose', read: text },
  OPENROUTER_BASE_URL: {
    meaning: 'Where OpenRouter is; /chat/completions follows',
    default: 'https://openrouter.ai/api/v1',
    read: webUrl,
  },
  OPENROUTER_CONCURRENCY: {
    meaning: 'Documents that are classified at once, over all workers',
    default: '20',
    read: wholeNumber(1, 1000),
  },
  OPENROUTER_REQUESTS_PER_MINUTE: {
    meaning: 'Questions in any minute, over all workers, exactly: at most as many as the plan at OpenRouter allows',
    absent: 'no limit but its own answers',
    read: wholeNumber(1, 1_000_000),
  },
} as const

/** Throws `bad_setting` with the name of an unusable variable. */
export function readOpenRouter(environment?: Readonly<Record<string, string | undefined>>): OpenRouterOptions {
  const read = readSystemSettings(settings, environment)
  return {
    key: read.OPENROUTER_API_KEY,
    model: read.OPENROUTER_MODEL,
    baseUrl: read.OPENROUTER_BASE_URL,
    concurrency: read.OPENROUTER_CONCURRENCY,
    requestsPerMinute: read.OPENROUTER_REQUESTS_PER_MINUTE,
  }
}
