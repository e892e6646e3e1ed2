/**
 * Something that stops a script and that a person can put right: shown as its sentence, without a stack.
 * Anything else that is thrown is a fault of ours and keeps its stack.
 */
export class Trouble extends Error {}

export function giveUp(error) {
  console.error(error instanceof Trouble ? error.message : error)
  process.exit(1)
}
