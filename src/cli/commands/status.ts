/** `retoma status`: what is in the queues and who works on it. */
import type { Command } from 'commander'
import type { QueueView } from '../../index.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Context } from '../context.ts'
import { refuseWithoutData, withEngine } from '../database.ts'
import type { Cli } from '../program.ts'
import { table } from '../table.ts'
import type { Voice } from '../voice.ts'
import { queueWire, workerWire } from '../wire.ts'
import { workerLines } from './workers.ts'

export function statusCommand(program: Command, cli: Cli): void {
  const { help } = cli.voice.word
  program.command('status').description(help.status).option('--watch', help.statusWatch).action(cli.action(status))
}

const againMs = 2000
const clearScreen = '\u001b[H\u001b[2J'

async function status(context: Context, { watch }: { watch?: true }): Promise<void> {
  const { voice } = context
  await refuseWithoutData(context)
  await withEngine(context, {}, async (engine, asked) => {
    do {
      const [queues, workers] = await Promise.all([engine.queues(), engine.workers()])
      if (watch && !voice.json && process.stdout.isTTY) process.stdout.write(clearScreen)
      voice.answer({ queues: queues.map(queueWire), workers: workers.map(workerWire) }, [
        ...queueLines(queues, voice),
        '',
        ...workerLines(workers, voice),
      ])
      if (watch) await systemClock.sleep(againMs, asked)
    } while (watch && !asked.aborted)
  })
}

function queueLines(queues: readonly QueueView[], { word }: Voice): string[] {
  if (queues.length === 0) return [word.status.noQueues]
  return table(
    word.status.queues,
    queues.map(({ queue, ready, scheduled, running, stalled, paused }) => [
      queue,
      ready,
      scheduled,
      running,
      stalled,
      paused ? word.status.paused : '',
    ]),
  )
}
