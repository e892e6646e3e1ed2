/**
 * Collects doctor's findings for a helper: versions, checks, sizes, queues, workers, and the names of the settings in use.
 *
 * Invariant: the bundle contains no input, result, error or key of a job, no value of a setting, no name of this machine, its home folder
 * or its database. The bundle contains the names of queues and kinds.
 */

import { homedir, hostname } from 'node:os'
import type { ConnectionConfig } from '../engine/engine-options.ts'
import { queueWire, snakeCase, workerWire } from '../json-views.ts'
import type { DoctorReport } from '../maintenance/index.ts'
import type { Check } from '../maintenance/model/doctor-check.ts'
import { settingsSet } from '../settings/index.ts'
import { version } from '../version.ts'
import type { Context } from './command-context.ts'
import type { Output } from './output.ts'
import { isCommonName, namesInUrl, scrub } from './scrub-names.ts'

export function bundleOf(
  { output, settings, problems }: Context,
  found: DoctorReport,
  now: Date,
  connection: ConnectionConfig | undefined,
): string {
  const { checks, server, schema, tables, queues, workers } = found
  // The sentence about a bad setting quotes the value.
  const unusable = problems.map(each => each.facts.name ?? each.code).join(', ')
  const bundle = {
    retoma: version,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    at: now.toISOString(),
    database:
      settings.DATABASE_URL === undefined ? (connection === undefined ? 'embedded' : 'connection') : 'DATABASE_URL',
    settings_set: settingsSet(process.env),
    checks: checks
      .map(each => checkWire(each, output))
      .map(each => (each.check === 'settings' && problems.length > 0 ? { ...each, sentence: unusable } : each)),
    server: server === undefined ? null : snakeCase(server),
    schema: schema ?? null,
    tables: tables?.map(snakeCase) ?? null,
    queues: queues?.map(queueWire) ?? null,
    workers: workers?.map(({ host: _, ...worker }) => workerWire(worker as typeof worker & { host: string })) ?? null,
  }
  return `${JSON.stringify(scrub(bundle, privateNames(connection)), null, 2)}\n`
}

/** A check in JSON. */
export const checkWire = ({ name, verdict, sentence, advice }: Check, { language }: Output) => ({
  check: name,
  verdict,
  sentence: sentence[language],
  advice: advice?.[language] ?? null,
})

function privateNames(connection: ConnectionConfig = {}): string[] {
  const { DATABASE_URL, DATABASE_DIRECT_URL, RETOMA_DATA_DIR } = process.env
  const { connectionString, host, user, database, password } = connection
  const urls = [DATABASE_URL, DATABASE_DIRECT_URL, connectionString].filter(url => url !== undefined)
  const given = [host, user, database, password].filter(
    name => typeof name === 'string' && !isCommonName(name),
  ) as string[]
  const folders = [homedir(), RETOMA_DATA_DIR ?? ''].filter(folder => folder !== '/')
  return [...folders, hostname(), ...given, ...urls.flatMap(namesInUrl)]
}
