/**
 * What doctor found, for somebody who helps: versions, checks, sizes, queues, workers, and which settings are set.
 *
 * Invariant: no input, result, error, key, value of a setting, password, host name or home folder is in it.
 */
import { homedir, hostname } from 'node:os'
import type { Examined } from '../maintenance/index.ts'
import { settingsSet } from '../settings/index.ts'
import { version } from '../version.ts'
import type { Context } from './context.ts'
import { queueWire, workerWire } from './wire.ts'

export function bundleOf({ voice, settings }: Context, found: Examined, now: Date): string {
  const { checks, server, schema, tables, queues, workers } = found
  const bundle = {
    retoma: version,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    at: now.toISOString(),
    database: settings.DATABASE_URL === undefined ? 'embedded' : 'DATABASE_URL',
    settings_set: settingsSet(process.env),
    checks: checks.map(({ name, verdict, sentence, advice }) => ({
      check: name,
      verdict,
      sentence: sentence[voice.language],
      advice: advice?.[voice.language] ?? null,
    })),
    server: server ?? null,
    schema: schema ?? null,
    tables: tables ?? null,
    queues: queues?.map(queueWire) ?? null,
    workers: workers?.map(({ host: _, ...worker }) => workerWire(worker as typeof worker & { host: string })) ?? null,
  }
  return `${scrubbed(JSON.stringify(bundle, null, 2))}\n`
}

/** A sentence may quote an error of somebody else's, and that a URL, a folder or a machine. */
function scrubbed(text: string): string {
  const names = [homedir(), hostname()].filter(each => each.length > 3)
  const plain = text.replace(/(\w+:\/\/)[^\s/"@]*@/g, '$1')
  return names.reduce((all, name) => all.replaceAll(name, '…'), plain)
}
