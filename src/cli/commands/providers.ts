/** `retoma providers`: lists the providers with their waits and stops. `clear NAME` ends the wait or stop of a provider at once. */
import type { Command } from 'commander'
import type { ProviderView } from '../../index.ts'
import { providerWire } from '../../json-views.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withEngine } from '../command-database.ts'
import { when } from '../format/relative-time.ts'
import { table } from '../format/text-table.ts'
import { osUser } from '../os-user.ts'
import type { Output } from '../output.ts'
import type { Cli } from '../program.ts'

export function providersCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  const providers = program.command('providers').description(help.providers).action(cli.action(list))
  providers.helpCommand(`help ${help.commandMark}`, help.helpCommand)
  providers
    .command('clear')
    .description(help.providersClear)
    .argument('<name>', help.providerName)
    .action(cli.action(clear))
}

async function list(context: Context): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const found = await withEngine(context, {}, engine => engine.providers.list())
  output.answer({ items: found.map(providerWire), next: null }, providerLines(found, output))
}

async function clear(context: Context, name: string): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const cleared = await withEngine(context, {}, engine => engine.providers.clear(name, osUser()))
  const { word } = output
  output.answer(cleared, [cleared.changed ? word.providers.cleared(name) : word.providers.openAlready(name)])
}

export function providerLines(providers: readonly ProviderView[], { word, language }: Output): string[] {
  if (providers.length === 0) return [word.providers.none]
  const now = systemClock.now()
  return table(
    word.providers.columns,
    providers.map(({ name, state, waitUntil, probeAt, message, probeError }) => {
      const again = waitUntil ?? probeAt
      return [
        name,
        word.providers.states[state],
        again === null || state === 'open' ? '' : when(again, now, language),
        state === 'open' ? '' : [message, probeError].filter(Boolean).join('; '),
      ]
    }),
  )
}
