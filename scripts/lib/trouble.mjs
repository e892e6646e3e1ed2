/**
 * An error which stops a script and which a person can fix: shown as a sentence, without a stack. Any other error is
 * a fault of the script and keeps the stack.
 */
export class Trouble extends Error {}

export function giveUp(error) {
  console.error(error instanceof Trouble ? error.message : error)
  process.exit(1)
}
