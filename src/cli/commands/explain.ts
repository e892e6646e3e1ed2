/**
 * `retoma explain job|batch|queue ID`: explains why a job, batch or queue does not advance, with advice; an id alone is looked up in all
 * three.
 */
import type { Command } from 'commander'
import { isRetomaError, RetomaError } from '../../errors/errors.ts'
import type { Engine, ExplainSubject, Explanation } from '../../index.ts'
import { explanationWire } from '../../json-views.ts'
import { suggestion } from '../../settings/index.ts'
import { wrongUse } from '../arguments.ts'
import type { Context } from '../command-context.ts'
import { refuseWithoutData, withEngine } from '../command-database.ts'
import { explanationLines } from '../format/explain-lines.ts'
import { both } from '../messages/index.ts'
import type { Cli } from '../program.ts'

const sorts = ['job', 'batch', 'queue'] as const

export function explainCommand(program: Command, cli: Cli): void {
  const { help } = cli.output.word
  program
    .command('explain')
    .description(help.explain)
    .argument('<what>', help.explainWhat)
    .argument('[id]', help.explainId)
    .action(cli.action(explain))
}

async function explain(context: Context, what: string, id: string | undefined): Promise<void> {
  const { output } = context
  const ask = asked(what, id)
  await refuseWithoutData(context)
  const options = { language: output.language }
  const explanation = await withEngine(context, {}, engine =>
    ask === undefined ? findOut(engine, what, options) : engine.explain(ask, options),
  )
  output.answer(explanationWire(explanation), explanationLines(explanation, output))
}

/** Returns undefined if only an id was given. */
function asked(what: string, id: string | undefined): ExplainSubject | undefined {
  const sort = sorts.find(each => each === what)
  if (sort === undefined && id === undefined) return undefined
  if (sort === undefined) {
    const hint = suggestion(what, sorts)
    throw wrongUse((word, language) => word.wrong.explainSort(what, hint[language]))
  }
  if (id === undefined) throw wrongUse(word => word.wrong.argumentMissing('ID'))
  return sort === 'job' ? { job: id } : sort === 'batch' ? { batch: id } : { queue: id }
}

async function findOut(engine: Engine, id: string, options: { language: 'en' | 'pt' }): Promise<Explanation> {
  for (const what of [{ job: id }, { batch: id }, { queue: id }]) {
    try {
      return await engine.explain(what, options)
    } catch (error) {
      // A name that is no number can only mean a queue, and the error names the nearest queue.
      const isName = 'queue' in what && !/^\d+$/.test(id)
      if (isName || !(isRetomaError(error, 'not_found') || isRetomaError(error, 'unknown_queue'))) throw error
    }
  }
  throw new RetomaError('not_found', { what: both(word => word.explain.what), id })
}
