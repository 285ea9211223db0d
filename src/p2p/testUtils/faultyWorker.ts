import { parentPort } from 'node:worker_threads'
import { END, runTask, type Task } from '../gossip/inspectionTask.ts'

// The thread for large messages, which breaks down on demand: a message's topic or a block's frames say so.

parentPort?.on('message', (task: Task | typeof END) => {
  if (task === END) {
    parentPort?.close()
    return
  }
  const order = 'block' in task ? Buffer.from(task.block.frames.subarray(0, 5)).toString() : task.topic
  if (order === 'die') process.exit(7)
  if (order === 'throw') throw new Error('thrown on demand')
  // Until it is terminated.
  while (order === 'hang');
  runTask(task, (answer) => parentPort?.postMessage(answer))
})
