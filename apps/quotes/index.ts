/**
 * Creates the price quotes, an application on the engine: the description of a product or of a vehicle becomes prices with their evidence.
 * `quotes()` returns the system for `systems` in a retoma.config, and needs only `retoma` and `retoma/http`.
 */
import { type Engine, milliseconds } from 'retoma'
import { clockOf, type System } from 'retoma/http'
import { errors } from './errors.ts'
import { createQuoteJobs, type QuoteProviders, queue } from './jobs.ts'
import { quoteMetrics } from './metrics.ts'
import { createPageFetcher, longestTurn } from './price-pages/fetch-page.ts'
import { priceLimits, priceModule, readFetched } from './price-pages/price-reader.ts'
import type { PageBytes, ReadPrice } from './price-pages/read-price.ts'
import { createScreenshots } from './price-pages/screenshot.ts'
import { anthropicProvider } from './providers/anthropic.ts'
import { fipeProvider } from './providers/fipe.ts'
import { serpApiProvider } from './providers/serpapi.ts'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import type { Pause } from './providers/simulated/chance.ts'
import { simulatedPages, simulatedShopping } from './providers/simulated/shopping.ts'
import { simulatedVehicles } from './providers/simulated/vehicles.ts'
import { createQuotes } from './quotes.ts'
import { routesOf } from './routes/index.ts'
import { type QuotesSettings, readQuotesSettings } from './settings.ts'
import { hostTurns } from './turns.ts'

export interface QuotesOptions {
  /** Default: the variables ANTHROPIC_*, SERPAPI_*, FIPE_* and RETOMA_FETCH_ALLOW of the environment. */
  settings?: QuotesSettings
  /** Simulated providers take as long as real ones. Default true. */
  simulatedDelays?: boolean
  /** In place of the providers that the settings name, for tests. */
  providers?: Partial<QuoteProviders>
}

// Tests run this file from the TypeScript source; the package has dist/ beside sql/.
const migrations = new URL(import.meta.url.endsWith('.ts') ? './sql/' : '../sql/', import.meta.url)

export function quotes(options: QuotesOptions = {}): System {
  const { settings = readQuotesSettings(), simulatedDelays = true } = options
  let home: Engine | undefined
  const engine = () => {
    if (home === undefined) throw new Error('the quotes have no engine: call attach first')
    return home
  }
  const pause: Pause = (ms, signal) =>
    simulatedDelays ? clockOf(engine()).sleep(milliseconds(ms), signal) : Promise.resolve()
  const { anthropic, serpapi, fipe } = settings
  const simulated = simulatedOf(settings)
  const jobs = createQuoteJobs({
    providers: { ...providersOf(settings, engine, pause), ...options.providers },
    limits: { anthropic, serpapi, fipe },
    pause: simulatedDelays && simulated.length === 3 ? signal => pause(briefly, signal) : undefined,
    engine,
  })
  const all = createQuotes(jobs, simulated.length > 0, engine)
  return {
    name: 'quotes',
    page: '/cotacoes/',
    migrations,
    jobs: [jobs.quote, all.openBatch],
    batches: [jobs.batch],
    schedules: all.schedules,
    queues: { [queue]: settings.concurrency },
    routes: routesOf(all).map(route => ({ ...route, language: 'pt' as const })),
    errors,
    simulated,
    attach: given => {
      home = given
      given.metrics.include(() => quoteMetrics(given))
    },
    attached: [jobs.quote, all.openBatch, ...all.schedules.map(({ job }) => job)],
  }
}

/** So long that a stream, which merges to about four events a second, names each checkpoint. In milliseconds. */
const briefly = 300

/** The providers without a key, in a fixed order. */
const simulatedOf = ({ anthropic, serpapi, fipe }: QuotesSettings): string[] => [
  ...(anthropic.key === undefined ? ['anthropic'] : []),
  ...(serpapi.key === undefined ? ['serpapi'] : []),
  ...(fipe.baseUrl === undefined ? ['fipe'] : []),
]

function providersOf(settings: QuotesSettings, engine: () => Engine, pause: Pause): QuoteProviders {
  const { anthropic, serpapi, fipe, pages } = settings
  return {
    analysis:
      anthropic.key === undefined ? simulatedAnalysis(pause) : anthropicProvider({ ...anthropic, key: anthropic.key }),
    vehicles: fipe.baseUrl === undefined ? simulatedVehicles(pause) : fipeProvider({ ...fipe, baseUrl: fipe.baseUrl }),
    ...(serpapi.key === undefined
      ? simulatedShops(engine, pause)
      : {
          shopping: serpApiProvider({ ...serpapi, key: serpapi.key }),
          pages: realPages(pages, engine),
          ...picturesBy(pages),
        }),
  }
}

function simulatedShops(engine: () => Engine, pause: Pause): Pick<QuoteProviders, 'shopping' | 'pages'> {
  const read = simulatedPages(pause, () => clockOf(engine()).now())
  return { shopping: simulatedShopping(pause), pages: { readLink: (_job, link, signal) => read(link, signal) } }
}

/** With CHROMIUM_PATH: a picture of each page with a price. */
function picturesBy({ chromium }: QuotesSettings['pages']): Pick<QuoteProviders, 'screenshot'> {
  if (chromium === undefined) return {}
  return { screenshot: createScreenshots({ chromium }) }
}

/** A page is hostile input: a process of its own parses the page. */
function realPages({ allow }: QuotesSettings['pages'], engine: () => Engine): QuoteProviders['pages'] {
  const fetcher = createPageFetcher({
    allow,
    now: () => clockOf(engine()).now(),
  })
  return {
    fetch: ({ ctx, progress }, link, signal) =>
      fetcher.fetch(link, signal, hostTurns(engine(), ctx, milliseconds(longestTurn), progress)),
    read: ({ ctx, name }, fetched) =>
      readFetched(fetched, (page: PageBytes) =>
        ctx.isolated<ReadPrice>(`${name} price`, priceModule, page, priceLimits),
      ),
  }
}
