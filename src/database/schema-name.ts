/**
 * Names the schema of an engine in its statements. The source names the schema `retoma` everywhere; an engine with another schema rewrites
 * each static statement once.
 *
 * Invariant: with the schema `retoma` no text changes and nothing is paid. With another schema, a text that names a table or a sequence of
 * `retoma` names the same table of this schema, also in an SQL literal; the wake-up channel has the name of the schema, so that engines
 * with different schemas in one database do not wake each other. In the SQL of a user a literal is a value (such as the kind
 * 'retoma.notify') and stays, unless PostgreSQL reads the literal as a name: 'retoma.job'::regclass.
 */

export const defaultSchema = 'retoma'

/** The setting `retoma.transaction` marks a transaction; its prefix is no schema. `'retoma'::name` is the name of the schema as a value. */
const ours = /(?<![\w."/@-])retoma\.(?!transaction\b)(?=[a-z_])|'retoma'::name|\bretoma_wake\b/g

/** Parts of an SQL text: comments, dollar quotes, literals, quoted names, and a name of ours outside of them. */
const parts =
  /--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-zA-Z_]*)\$[\s\S]*?\$\1\$|[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w."/@-])retoma\.(?!transaction\b)(?=[a-z_])/g
/** What stands before and after a literal that PostgreSQL reads as a name. */
const takesName = /\b(?:nextval|currval|setval|to_regclass|cast)\s*\(\s*$/i
const isCast = /^\s*(?:::\s*|as\s+)regclass\b/i

export interface SchemaNames {
  readonly schema: string
  /** Names the schema in a statement. Answers the same object for the same statement. */
  statement<S extends { readonly text: string }>(statement: S): S
  /** Names the schema in a text. */
  text(text: string): string
  /** Names the schema in the SQL of a user. */
  textOfUser(text: string): string
}

const unchanged: SchemaNames = {
  schema: defaultSchema,
  statement: given => given,
  text: text => text,
  textOfUser: text => text,
}

/** `schema` is a checked name: lower-case letters, digits and _. */
export function schemaNames(schema: string = defaultSchema): SchemaNames {
  if (schema === defaultSchema) return unchanged
  const known = new WeakMap<object, object>()
  const text = (given: string) =>
    given.replace(ours, found => {
      if (found === 'retoma_wake') return `${schema}_wake`
      return found.endsWith('.') ? `"${schema}".` : `'${schema}'::name`
    })
  const textOfUser = (given: string) =>
    given.replace(parts, (found: string, _tag: string | undefined, at: number) => {
      if (found === 'retoma.') return `"${schema}".`
      if (found.startsWith('$')) return text(found) // the body of a function, or a DO block
      if (!/^'retoma\.\w+'$/.test(found)) return found
      const isName =
        takesName.test(given.slice(Math.max(0, at - 100), at)) || isCast.test(given.slice(at + found.length))
      return isName ? text(found) : found
    })
  return {
    schema,
    text,
    textOfUser,
    statement(statement) {
      const named = known.get(statement)
      if (named !== undefined) return named as typeof statement
      const made = { ...statement, text: text(statement.text) }
      known.set(statement, made)
      return made
    },
  }
}
