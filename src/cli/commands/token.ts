/** `retoma token create|list|revoke`: manages API tokens. Access to the database is enough; the commands need no token. */
import type { Command } from 'commander'
import type { TokenRole } from '../../auth/model/token.ts'
import type { Engine, TokenView } from '../../index.ts'
import { tokenWire } from '../../json-views.ts'
import { systemClock } from '../../lib/clock.ts'
import { role, wholeNumber, wrongUse } from '../arguments.ts'
import type { Context } from '../command-context.ts'
import { isOwnDatabase, refuseWithoutData, withEngine } from '../command-database.ts'
import { ago } from '../format/relative-time.ts'
import { table } from '../format/text-table.ts'
import type { Output } from '../output.ts'
import type { Cli } from '../program.ts'
import { repeated } from './jobs/jobs-list.ts'

export function tokenCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  const token = program.command('token').description(help.token)
  token.helpCommand(`help ${help.commandMark}`, help.helpCommand)
  token
    .command('create')
    .description(help.tokenCreate)
    .option('--user <name>', help.tokenUser)
    .option('--role <role>', help.tokenRole, role)
    .action(cli.action(create))
  token
    .command('list')
    .description(help.tokenList)
    .option('--user <name>', help.ofUser)
    .option('--role <role>', help.ofRole, role)
    .option('--limit <n>', help.limit, wholeNumber('--limit', 1, 500))
    .option('--after <id>', help.after)
    .action(cli.action(list))
  token
    .command('revoke')
    .description(help.tokenRevoke)
    .argument('[ids...]', help.tokenIds)
    .option('--user <name>', help.tokenOfUser)
    .action(cli.action(revoke))
}

async function create(context: Context, given: { user?: string; role?: TokenRole }): Promise<void> {
  const { output } = context
  if (given.user === undefined) throw wrongUse(({ wrong }) => wrong.optionMissing('--user'))
  if (given.role === undefined) throw wrongUse(({ wrong }) => wrong.optionMissing('--role'))
  const asked = { user: given.user, role: given.role, by: 'retoma token create' }
  // The embedded database belongs to this folder; a shared database is migrated only on request.
  const migrate = await isOwnDatabase(context)
  const { token, ...view } = await withEngine(context, { migrate }, engine => engine.tokens.create(asked))
  const { tokens } = output.word
  output.answer({ ...tokenWire(view), token }, [tokens.made(view.user, view.role, view.id), token, tokens.keep])
}

async function list(
  context: Context,
  filter: { user?: string; role?: TokenRole; limit?: number; after?: string },
): Promise<void> {
  const { output } = context
  await refuseWithoutData(context)
  const { items, next } = await withEngine(context, {}, engine => engine.tokens.list(filter))
  const lines = tokenLines(items, output)
  if (next !== null) lines.push(output.word.jobs.more(`retoma token list ${repeated(filter)}--after ${next}`))
  output.answer({ items: items.map(tokenWire), next }, lines)
}

async function revoke(context: Context, ids: string[], { user }: { user?: string }): Promise<void> {
  const { output } = context
  if ((user === undefined) === (ids.length === 0)) throw wrongUse(({ wrong }) => wrong.tokenIdsOrUser)
  await refuseWithoutData(context)
  const { tokens } = output.word
  const { items, admins } = await withEngine(context, {}, async engine => {
    const all = []
    // `evenLast`: the user of this command can create another admin token.
    for (const id of user === undefined ? ids : await idsOf(engine, user))
      all.push(await engine.tokens.revoke(id, { by: 'retoma token revoke', evenLast: true }))
    return { items: all, admins: (await engine.tokens.list({ role: 'admin', live: true, limit: 1 })).items.length }
  })
  output.answer(
    { items: items.map(({ changed, ...view }) => ({ ...tokenWire(view), changed })), next: null },
    items.map(each => (each.changed ? tokens.revoked(each.id, each.user) : tokens.revokedAlready(each.id, each.user))),
  )
  if (admins === 0) output.note(tokens.noAdmin)
}

async function idsOf(engine: Engine, user: string): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await engine.tokens.list({ user, live: true, limit: 500, ...(after === undefined ? {} : { after }) })
    ids.push(...page.items.map(each => each.id))
    after = page.next
  }
  return ids
}

export function tokenLines(found: readonly TokenView[], { word, language }: Output): string[] {
  if (found.length === 0) return [word.tokens.none]
  const now = systemClock.now()
  const when = (at: Date | null) => (at === null ? '' : ago(at, now, language))
  return table(
    word.tokens.columns,
    found.map(({ id, user, role, shown, createdAt, createdBy, usedAt, revokedAt }) => [
      id,
      user,
      role,
      shown,
      when(createdAt),
      createdBy ?? '',
      when(usedAt),
      when(revokedAt),
    ]),
  )
}
