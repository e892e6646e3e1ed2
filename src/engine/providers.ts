/** Services outside that jobs ask: how they stand, and the lever for a person who knows better. */
import { type By, checkBy } from '../core/by.ts'
import { namePattern } from '../core/name.ts'
import type { ProviderView } from '../core/provider.ts'
import { RetomaError, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Db } from '../store/db.ts'
import { viewProviders } from '../store/provider.ts'
import { clearProvider } from '../store/provider-clear.ts'

/** How it is afterwards, and whether this call changed it. */
export interface ClearedProvider {
  name: string
  state: 'open'
  changed: boolean
}

export interface Providers {
  /** Services outside that have ever asked jobs to wait, or stopped, and how they stand. */
  providers(): Promise<ProviderView[]>
  /** What it said is at an end: it is asked at once, and whatever waits for it, or stands still for it, goes on. */
  clearProvider(name: string, options?: By): Promise<ClearedProvider>
}

export function createProviders(given: { db: Db; clock: Clock; goOn: () => Promise<void> }): Providers {
  const { db, clock, goOn } = given
  return {
    providers: () => viewProviders(db, clock.instant()),
    async clearProvider(name, options) {
      const by = checkBy(options)
      const pressed = namePattern.test(name) ? await clearProvider(db, name, by, clock.instant()) : undefined
      if (pressed === undefined)
        throw new RetomaError('not_found', { what: say('provider', 'provedor'), id: String(name) })
      // Pressed again, too: whoever pressed first may have died over it.
      await goOn()
      return { name, state: 'open', changed: pressed.changed }
    },
  }
}
