/**
 * Assembles the command line: every command, the global options, and the handling of errors. Exit codes are 0 success, 1 failure, 2 wrong
 * use.
 */
import { Command, CommanderError } from 'commander'
import type { ErrorCode, RetomaError } from '../errors/errors.ts'
import { version } from '../version.ts'
import { type ActionOptions, type Context, createContext, type GlobalOptions } from './command-context.ts'
import { backupCommand } from './commands/backup.ts'
import { batchCommand } from './commands/batch/batch.ts'
import { doctorCommand } from './commands/doctor.ts'
import { explainCommand } from './commands/explain.ts'
import { guardCommand } from './commands/guard.ts'
import { initCommand } from './commands/init.ts'
import { jobsCommand } from './commands/jobs/jobs.ts'
import { migrateCommand } from './commands/migrate.ts'
import { notifyCommand } from './commands/notify.ts'
import { providersCommand } from './commands/providers.ts'
import { queuesCommand } from './commands/queues.ts'
import { restoreCommand } from './commands/restore.ts'
import { schedulesCommand } from './commands/schedules.ts'
import { serveCommand } from './commands/serve.ts'
import { statusCommand } from './commands/status.ts'
import { tokenCommand } from './commands/token.ts'
import { upCommand } from './commands/up.ts'
import { watchdogCommand } from './commands/watchdog.ts'
import { workerCommand } from './commands/worker.ts'
import { workersCommand } from './commands/workers.ts'
import { languageOf } from './messages/index.ts'
import { allSaid, asRetomaError, createOutput, type Output } from './output.ts'
import { asWrongUse, localizeHelp } from './usage-help.ts'

/** Passed to each command file to register its commands. */
export interface Cli {
  readonly output: Output
  /**
   * Makes a commander action from a function with the context as first argument; if `run` returns a number, the number is the exit code.
   */
  action(
    run: (context: Context, ...given: never[]) => Promise<unknown>,
    options?: ActionOptions,
  ): (...given: unknown[]) => Promise<void>
}

/** Returns the exit code after all output was written. */
export async function main(argv: readonly string[]): Promise<number> {
  const before = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const output = createOutput({ language: languageOf(process.env), json: before.includes('--json') })
  const code = await run(output, argv)
  await allSaid()
  return code
}

async function run(output: Output, argv: readonly string[]): Promise<number> {
  let code = 0
  const program = createProgram(output, ended => {
    code = ended
  })
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return code
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0
    const error = thrown instanceof CommanderError ? asWrongUse(thrown, program) : asRetomaError(thrown)
    // Commander has already shown the help, which says more than the sentence.
    const shown = thrown instanceof CommanderError && thrown.code === 'commander.help'
    if (!shown || output.json) output.complain(error)
    return exitCodeOf(error)
  }
}

function createProgram(output: Output, ended: (code: number) => void): Command {
  const { help } = output.word
  const program = new Command('retoma')
    .description(help.program)
    .version(version, '-v, --version', help.version)
    .option('--json', help.json)
    .option('--config <file>', help.config)
  localizeHelp(program, output)
  program.helpCommand(`help ${help.commandMark}`, help.helpCommand)

  const cli: Cli = {
    output,
    action:
      (run, options = { quiet: true }) =>
      async (...given) => {
        const command = given.at(-1) as Command
        const context = createContext(output, command.optsWithGlobals<GlobalOptions>(), options)
        const answer = await run(context, ...(given.slice(0, -1) as never[]))
        ended(typeof answer === 'number' ? answer : 0)
      },
  }
  for (const add of commands) add(program, cli)
  return program
}

const commands = [
  upCommand,
  serveCommand,
  workerCommand,
  watchdogCommand,
  migrateCommand,
  initCommand,
  statusCommand,
  workersCommand,
  queuesCommand,
  jobsCommand,
  batchCommand,
  explainCommand,
  providersCommand,
  schedulesCommand,
  guardCommand,
  notifyCommand,
  tokenCommand,
  doctorCommand,
  backupCommand,
  restoreCommand,
]

const wrongUse: readonly ErrorCode[] = [
  'wrong_use',
  'notify_unset',
  'bad_option',
  'unknown_kind',
  'unknown_queue',
  'unknown_schedule',
  'unknown_guard',
  'unknown_migration',
]

const exitCodeOf = (error: RetomaError): number => (wrongUse.some(code => code === error.code) ? 2 : 1)
