/** `retoma workers`: who works, and when each was last heard of by the database's clock. */
import type { Command } from 'commander'
import type { WorkerView } from '../../index.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Context } from '../context.ts'
import { refuseWithoutData, withEngine } from '../database.ts'
import type { Cli } from '../program.ts'
import { table } from '../table.ts'
import { relative } from '../times.ts'
import type { Voice } from '../voice.ts'
import { workerWire } from '../wire.ts'

export function workersCommand(program: Command, cli: Cli): void {
  program.command('workers').description(cli.voice.word.help.workers).action(cli.action(workers))
}

async function workers(context: Context): Promise<void> {
  const { voice } = context
  await refuseWithoutData(context)
  const found = await withEngine(context, {}, engine => engine.workers())
  voice.answer({ items: found.map(workerWire), next: null }, workerLines(found, voice))
}

export function workerLines(workers: readonly WorkerView[], { word, language }: Voice): string[] {
  const { status } = word
  if (workers.length === 0) return [status.noWorkers]
  const now = systemClock.now()
  return table(
    status.workers,
    workers.map(worker => [
      worker.id,
      relative(new Date(now.getTime() - worker.beatAgeSeconds * 1000), now, language),
      worker.dead ? status.dead : worker.suspected ? status.suspected : status.alive,
      worker.running,
      Object.entries(worker.queues)
        .map(([queue, size]) => `${queue}:${size}`)
        .join(' '),
      worker.host,
      worker.pid,
      relative(worker.startedAt, now, language),
    ]),
  )
}
