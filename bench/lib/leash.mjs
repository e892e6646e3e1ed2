/**
 * Starts an outside program (redis-server, npm) which ends with this process: a shell waits on a pipe, and when the pipe
 * closes, because this process ended or died, the shell ends the program. The program has a separate session, so Ctrl-C
 * reaches only this process.
 */
import { spawn } from 'node:child_process'

const script = 'trap : TERM; "$@" <&- & cat >/dev/null; kill $!; wait $!'

/** `pid` is the shell's, whose only lasting child is the program. */
export function onLeash(command, args, { output = () => {}, ...options } = {}) {
  const shell = spawn('sh', ['-c', script, 'leash', command, ...args], {
    ...options,
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  shell.stdin.on('error', () => {})
  shell.stdout.on('data', chunk => output(String(chunk)))
  const ended = new Promise((resolve, reject) => shell.on('exit', resolve).on('error', reject))
  return {
    pid: shell.pid,
    ended,
    async end() {
      shell.stdin.end()
      await ended
    },
  }
}
