/** Lists providers and lets a person end a provider wait or a provider stop. */

import type { Db } from '../database/db.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import type { Clock } from '../lib/clock.ts'
import { namePattern } from '../lib/values/name.ts'
import type { ProviderView } from './model/provider.ts'
import { clearProvider } from './sql/clear-provider.ts'
import { viewProviders } from './sql/provider-state.ts'

/** The state afterwards, and whether this call changed the state. */
export interface ClearedProvider {
  name: string
  state: 'open'
  changed: boolean
}

/** The namespace `engine.providers`. */
export interface ProvidersApi {
  /** Providers with a provider wait or stop now or in the past, with their state. */
  list(): Promise<ProviderView[]>
  /** Ends the provider wait or stop: jobs ask the provider at once, waiting jobs become ready and paused batches resume. */
  clear(name: string, options?: ActedBy): Promise<ClearedProvider>
}

export function createProviders(given: { db: Db; clock: Clock; providerAnswered: () => Promise<void> }): ProvidersApi {
  const { db, clock, providerAnswered } = given
  return {
    list: () => viewProviders(db, clock.instant()),
    async clear(name, options) {
      const by = checkActor(options)
      const cleared = namePattern.test(name) ? await clearProvider(db, name, by, clock.instant()) : undefined
      if (cleared === undefined)
        throw new RetomaError('not_found', { what: localized('provider', 'provedor'), id: String(name) })
      // Also on a repeated call: the first caller may have crashed before this point.
      await providerAnswered()
      return { name, state: 'open', changed: cleared.changed }
    },
  }
}
