/** Runs the solver in a thread of the job's process, so that the main thread of the process can report progress and hear the signal. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadSolver, type Solved, type SolverProgress } from './solve.ts'

export type ThreadMessage = { progress: SolverProgress } | { solved: Solved }

const port = parentPort!
const tell = (message: ThreadMessage) => port.postMessage(message)
const solve = await loadSolver()
tell({ solved: solve(workerData, progress => tell({ progress })) })
