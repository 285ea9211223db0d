import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ProgramLog } from './programLog.ts'

const FILE_BYTES = 1_000

function logInTest(): ProgramLog {
  const directory = mkdtempSync(join(tmpdir(), 'devium-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return new ProgramLog(join(directory, 'logs', 'program.log'), { fileBytes: FILE_BYTES })
}

/** A process that is killed at the end of the test. */
function started(child: ChildProcess): ChildProcess {
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** A program that writes 50 numbered lines of 11 bytes at each request, and answers. */
const WRITER = `let line = 0
  process.on('message', () => {
    for (let i = 0; i < 50; i++) console.log('line ' + String(line++).padStart(5, '0'))
    process.send('written')
  })`

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `line ${String(from + i).padStart(5, '0')}\n`).join('')

it("keeps the end of a running program's output in two files, and reads them as one", async () => {
  const log = logInTest()
  const file = log.open()
  const writer = started(spawn(process.execPath, ['-e', WRITER], { stdio: ['ignore', file, file, 'ipc'] }))
  closeSync(file)
  const tail = started(spawn('tail', ['-n', '+1', '-f', log.path], { stdio: ['ignore', 'pipe', 'ignore'] }))
  let followed = ''
  tail.stdout?.on('data', (chunk) => {
    followed += chunk
  })
  for (let round = 1; round <= 20; round++) {
    writer.send('write')
    await once(writer, 'message')
    await expect.poll(() => followed).toBe(lines(0, round * 50))
    // The awaited line may have just moved to the other file.
    log.trim()
    expect(log.read(55)).toBe(lines(round * 50 - 5, round * 50))
    expect(statSync(log.path).size).toBeLessThanOrEqual(FILE_BYTES)
  }
  const kept = readFileSync(`${log.path}.1`, 'utf8') + readFileSync(log.path, 'utf8')
  expect(kept.length).toBeGreaterThanOrEqual(FILE_BYTES)
  expect(lines(0, 1000).endsWith(kept)).toBe(true)
  expect(log.read(100_000)).toBe(kept)
})

it('truncates an oversized file of an earlier run, and shows nothing of it', () => {
  const log = logInTest()
  closeSync(log.open())
  writeFileSync(log.path, lines(0, 500))
  closeSync(log.open())
  expect(readFileSync(`${log.path}.1`, 'utf8')).toBe(lines(0, 500).slice(-FILE_BYTES))
  expect(log.read(100_000)).toBe('')
  appendFileSync(log.path, 'this run\n')
  expect(log.read(100_000)).toBe('this run\n')
})

it('shows the whole output of a run that started in the copy', () => {
  const log = logInTest()
  closeSync(log.open())
  appendFileSync(log.path, lines(0, 80))
  closeSync(log.open())
  appendFileSync(log.path, lines(80, 95))
  log.trim()
  appendFileSync(log.path, lines(95, 100))
  expect(log.read(100_000)).toBe(lines(80, 100))
})

it('leaves the file as it is where no copy can be written', () => {
  const log = logInTest()
  closeSync(log.open())
  appendFileSync(log.path, lines(0, 100))
  mkdirSync(`${log.path}.1`)
  log.trim()
  expect(log.read(100_000)).toBe(lines(0, 100))
})
