/**
 * Creates the price quotes, an application on the engine: the description of a product or of a vehicle becomes prices with their evidence.
 * `quotes()` returns the system for `systems` in a retoma.config, and needs only `retoma` and `retoma/http`.
 */
import type { System } from 'retoma/http'
import { errors } from './errors.ts'
import { systemRoutes } from './routes/system.ts'
import { type QuotesSettings, readQuotesSettings } from './settings.ts'

export interface QuotesOptions {
  /** Default: the variables ANTHROPIC_*, SERPAPI_*, FIPE_* and RETOMA_FETCH_ALLOW of the environment. */
  settings?: QuotesSettings
}

// Tests run this file from the TypeScript source; the package has dist/ beside sql/.
const migrations = new URL(import.meta.url.endsWith('.ts') ? './sql/' : '../sql/', import.meta.url)

export function quotes({ settings = readQuotesSettings() }: QuotesOptions = {}): System {
  return {
    name: 'quotes',
    migrations,
    routes: systemRoutes.map(route => ({ ...route, language: 'pt' as const })),
    errors,
    simulated: simulatedOf(settings),
  }
}

/** The providers without a key, in a fixed order. */
const simulatedOf = ({ anthropic, serpapi, fipe }: QuotesSettings): string[] => [
  ...(anthropic.key === undefined ? ['anthropic'] : []),
  ...(serpapi.key === undefined ? ['serpapi'] : []),
  ...(fipe.baseUrl === undefined ? ['fipe'] : []),
]
