import { parentPort } from 'node:worker_threads'
import { runTask, type Task } from '../gossip/inspectionTask.ts'

// The thread for large messages, which breaks down on demand.

parentPort?.on('message', (task: Task) => {
  if (task.topic === 'die') process.exit(7)
  if (task.topic === 'throw') throw new Error('thrown on demand')
  // Until it is terminated.
  while (task.topic === 'hang');
  runTask(task, (answer) => parentPort?.postMessage(answer))
})
