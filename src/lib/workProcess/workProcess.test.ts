import { execFileSync } from 'node:child_process'
import { expect, it, onTestFinished } from 'vitest'
import { isAlive } from '../../../test/support/processes.ts'
import type { KzgAnswer, KzgTask } from '../kzg/kzgTask.ts'
import { startWorkProcess } from './workProcess.ts'

const FAULTY = new URL('../kzg/testUtils/faultyKzg.ts', import.meta.url)
const ENDED_BY_SIGNAL = new URL('testUtils/endedBySignal.ts', import.meta.url)
const NO_BYTES = new Uint8Array(0)
const TASK: KzgTask = { id: 1, operation: 'commitments', blobs: 0 }

function start() {
  const answered = Promise.withResolvers<{ pid: number }>()
  const child = startWorkProcess<KzgTask, KzgAnswer>(FAULTY, (answer) => {
    if ('fault' in answer) answered.resolve(JSON.parse(answer.fault))
  })
  child.keepAlive(true)
  onTestFinished(() => void child.kill())
  return { child, answered: answered.promise }
}

it('a process that a signal ends during its start reports this after the program has handled the signal', async () => {
  const hasEnded = Promise.withResolvers<() => void>()
  const clock = {
    setTimeout: (callback: () => void) => {
      hasEnded.resolve(callback)
      return () => {}
    },
  }
  const child = startWorkProcess(ENDED_BY_SIGNAL, () => {}, clock)
  child.keepAlive(true)
  const reasons: string[] = []
  void child.ended.then((why) => reasons.push(why))
  const secondLater = await hasEnded.promise
  expect(await child.kill()).toBe('ended by SIGTERM')
  expect(reasons).toEqual([])
  secondLater()
  expect(await child.ended).toBe('ended by SIGTERM')
})

const groupOf = (pid: number): number => Number(execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)]))

it('a process has its own process group from the start, so a signal to the program does not reach it', async () => {
  const { child, answered } = start()
  child.send(TASK, NO_BYTES)
  const { pid } = await answered
  expect(groupOf(pid)).toBe(pid)
  expect(groupOf(process.pid)).not.toBe(pid)
})

it('a process ignores signals and ends at once when the program ends it', async () => {
  const { child, answered } = start()
  child.send(TASK, NO_BYTES)
  const { pid } = await answered
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(pid, signal)
  child.send({ ...TASK, id: 2 }, NO_BYTES)
  expect(isAlive(pid)).toBe(true)
  expect(await child.kill()).toBe('ended by SIGKILL')
  expect(isAlive(pid)).toBe(false)
})
