/** Translates commander: the help texts, and complaints about wrong use as Retoma errors. */
import type { Command, CommanderError } from 'commander'
import { RetomaError } from '../errors/errors.ts'
import { version } from '../version.ts'
import { wrongUse } from './arguments.ts'
import type { Output } from './output.ts'

/** Set before commands are added, because commands inherit the configuration. */
export function localizeHelp(program: Command, output: Output): void {
  const { help } = output.word
  const titles: Record<string, string> = {
    'Usage:': help.usage,
    'Arguments:': help.arguments,
    'Options:': help.options,
    'Global Options:': help.globalOptions,
    'Commands:': help.commands,
  }
  const translate = (text: string) => text.replace('[options]', help.optionsMark).replace('[command]', help.commandMark)
  program
    .helpOption('-h, --help', help.help)
    .exitOverride()
    // `main` prints all errors, in the same form.
    .configureOutput({
      outputError: () => {},
      // Commander itself prints two things on stdout: the version and the help.
      writeOut: text => output.answer(text === `${version}\n` ? { version } : { help: text }, [text.trimEnd()]),
    })
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: title => titles[title] ?? title,
      styleUsage: translate,
      styleSubcommandTerm: translate,
    })
}

/** Commander words problems in English only; the names are parsed from its sentence. */
export function asWrongUse({ code, message }: CommanderError, program: Command): RetomaError {
  const name = /'(.*?)'/.exec(message)?.[1] ?? ''
  const [flag = ''] = name.split('=')
  const group = program.commands.find(each => each.name() === program.args[0])
  const among = group === undefined ? 'retoma' : `retoma ${group.name()}`
  const near = /\(Did you mean (?:one of )?([^()]*)\?\)$/.exec(message)?.[1]?.replace(/[^\s,]+/g, '"$&"')
  switch (code) {
    case 'commander.unknownCommand':
      return wrongUse(({ wrong }) => {
        const meant = synonymOf(name, group) ?? near
        return wrong.command(name, meant ? wrong.didYouMean(meant) : '', among)
      })
    case 'commander.unknownOption':
      if (flag !== name && hasOption(program, flag)) return wrongUse(({ wrong }) => wrong.noValue(flag))
      return wrongUse(({ wrong }) => wrong.option(name, near ? wrong.didYouMean(near) : ''))
    case 'commander.missingArgument':
      return wrongUse(({ wrong }) => wrong.argumentMissing(name.toUpperCase()))
    case 'commander.optionMissingArgument':
      return wrongUse(({ wrong }) => wrong.optionValueMissing(name))
    case 'commander.excessArguments':
      return wrongUse(({ wrong }) => wrong.tooMany(name || 'retoma'))
    case 'commander.help':
      return wrongUse(({ wrong }) => wrong.commandMissing(among))
    default:
      return new RetomaError('wrong_use', { problem: message.replace(/^error: /, '') })
  }
}

const hasOption = (command: Command, flag: string): boolean =>
  command.options.some(each => each.long === flag) || command.commands.some(each => hasOption(each, flag))

/** Words of other tools, and the command of the same meaning here: by letters alone, `unpause` would be `pause`. */
const synonyms: Readonly<Record<string, string>> = { unpause: 'resume', continue: 'resume' }

function synonymOf(name: string, group: Command | undefined): string | undefined {
  const own = Object.hasOwn(synonyms, name) ? synonyms[name] : undefined
  return group?.commands.some(each => each.name() === own) ? `"${own}"` : undefined
}
