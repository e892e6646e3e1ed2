/** Defines the environment variables of the quotes, and reads them. */
import { readSystemSettings, settingChecks } from 'retoma'

const { hostsAndPorts, program, text, webUrl, wholeNumber } = settingChecks

/** @public for scripts/docs */
export const settings = {
  ANTHROPIC_API_KEY: {
    meaning: 'Key of Anthropic, for the analysis of quotes',
    absent: 'simulated',
    secret: true,
    read: text,
  },
  ANTHROPIC_MODEL: { meaning: 'Model asked of Anthropic', absent: 'one we choose', read: text },
  ANTHROPIC_BASE_URL: {
    meaning: 'Where Anthropic is; /v1/messages follows',
    default: 'https://api.anthropic.com',
    read: webUrl,
  },
  ANTHROPIC_CONCURRENCY: {
    meaning: 'Requests to Anthropic at the same time, over all workers',
    default: '20',
    read: wholeNumber(1, 1000),
  },
  ANTHROPIC_REQUESTS_PER_MINUTE: {
    meaning: 'Requests to Anthropic in any minute, over all workers, exactly',
    absent: 'no limit but its own answers',
    read: wholeNumber(1, 1_000_000),
  },
  SERPAPI_API_KEY: { meaning: 'Key of SerpApi, for shopping search', absent: 'simulated', secret: true, read: text },
  SERPAPI_BASE_URL: {
    meaning: 'Where SerpApi is; /search.json follows',
    default: 'https://serpapi.com',
    read: webUrl,
  },
  SERPAPI_CONCURRENCY: {
    meaning: 'Searches at SerpApi at the same time, over all workers',
    default: '20',
    read: wholeNumber(1, 1000),
  },
  SERPAPI_REQUESTS_PER_MINUTE: {
    meaning: 'Searches at SerpApi in any minute, over all workers, exactly',
    absent: 'no limit but its own answers',
    read: wholeNumber(1, 1_000_000),
  },
  FIPE_BASE_URL: {
    meaning: 'Where vehicle prices are, such as https://fipe.parallelum.com.br/api/v2',
    absent: 'simulated',
    read: webUrl,
  },
  FIPE_TOKEN: {
    meaning: 'Sent to it as X-Subscription-Token',
    absent: 'asked without one, with its lower limits',
    secret: true,
    read: text,
  },
  FIPE_CONCURRENCY: {
    meaning: 'Requests to FIPE at the same time, over all workers',
    default: '4',
    read: wholeNumber(1, 1000),
  },
  FIPE_REQUESTS_PER_MINUTE: {
    meaning: 'Requests to FIPE in any minute, over all workers, exactly',
    absent: 'no limit but its own answers',
    read: wholeNumber(1, 1_000_000),
  },
  RETOMA_FETCH_ALLOW: {
    meaning: 'host:port list that price pages may be fetched from though private, such as 127.0.0.1:8080',
    absent: 'no private address',
    read: hostsAndPorts,
  },
  CHROMIUM_PATH: {
    meaning: 'Chromium program that takes a picture of each price page, without network',
    absent: 'no pictures; the page itself is the evidence',
    read: program,
  },
  QUOTES_CONCURRENCY: {
    meaning: 'Quotes that a worker runs at the same time',
    default: '20',
    read: wholeNumber(1, 1000),
  },
} as const

/** How often and how much at once a provider may be asked, over all workers. */
export interface ProviderLimits {
  concurrency: number
  /** undefined: no limit. */
  requestsPerMinute: number | undefined
}

export interface QuotesSettings {
  anthropic: { key: string | undefined; model: string | undefined; baseUrl: string } & ProviderLimits
  serpapi: { key: string | undefined; baseUrl: string } & ProviderLimits
  fipe: { baseUrl: string | undefined; token: string | undefined } & ProviderLimits
  /** `allow`: `host:port` that may be fetched though private. */
  pages: { allow: readonly string[]; chromium: string | undefined }
  concurrency: number
}

/** Throws `bad_setting` with the name of an unusable variable. */
export function readQuotesSettings(environment?: Readonly<Record<string, string | undefined>>): QuotesSettings {
  const read = readSystemSettings(settings, environment)
  return {
    anthropic: {
      key: read.ANTHROPIC_API_KEY,
      model: read.ANTHROPIC_MODEL,
      baseUrl: read.ANTHROPIC_BASE_URL,
      concurrency: read.ANTHROPIC_CONCURRENCY,
      requestsPerMinute: read.ANTHROPIC_REQUESTS_PER_MINUTE,
    },
    serpapi: {
      key: read.SERPAPI_API_KEY,
      baseUrl: read.SERPAPI_BASE_URL,
      concurrency: read.SERPAPI_CONCURRENCY,
      requestsPerMinute: read.SERPAPI_REQUESTS_PER_MINUTE,
    },
    fipe: {
      baseUrl: read.FIPE_BASE_URL,
      token: read.FIPE_TOKEN,
      concurrency: read.FIPE_CONCURRENCY,
      requestsPerMinute: read.FIPE_REQUESTS_PER_MINUTE,
    },
    pages: { allow: read.RETOMA_FETCH_ALLOW ?? [], chromium: read.CHROMIUM_PATH },
    concurrency: read.QUOTES_CONCURRENCY,
  }
}
