/**
 * Recognizes a statement that would end the transaction of a handler or begin another transaction, such as `commit`. A `rollback to` a
 * savepoint is allowed.
 *
 * Invariant: the work grows linearly with the length of the statement.
 */

const control =
  /^(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!(?:\s+(?:work|transaction))?\s+to))\b/i

/**
 * Blanks, semicolons and comments before the first word of a statement. Matches a single piece at a time, so that no text is read twice.
 */
const before = /[\s;]+|--[^\n]*\n?|\/\*/y

/** A statement from the first word on; '' without a word. */
function fromFirstWord(text: string): string {
  for (let at = 0; ; at = before.lastIndex) {
    before.lastIndex = at
    const found = before.exec(text)?.[0]
    if (found === undefined) return text.slice(at)
    if (found !== '/*') continue
    before.lastIndex = commentEnd(text, at)
  }
}

/** Comments of PostgreSQL nest. An unterminated comment reaches to the end of the text, and PostgreSQL rejects the statement. */
function commentEnd(text: string, start: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  let depth = 0
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
  return text.length
}

export const isTransactionControl = (statement: string): boolean => control.test(fromFirstWord(statement))
