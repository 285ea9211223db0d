import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DocumentedStep, documentedSteps, takeSteps } from './support/documentedSession.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-session-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const command = (text: string, ...output: string[]): DocumentedStep => ({ kind: 'command', command: text, output })
const take = (...steps: DocumentedStep[]) => takeSteps(steps, folder, process.env.PATH ?? '')

describe('the steps of a page', () => {
  it('run in one shell, in order', async () => {
    const file: DocumentedStep = { kind: 'file', name: 'number.txt', text: '12\n' }
    expect(await take(file, command('N=$(cat number.txt)'), command('echo "block $N"', 'block 7'))).toEqual([])
  })

  it('fail with a failing command, and with output that differs from the page', async () => {
    expect(await take(command('echo why >&2; false'), command('true'))).toEqual([
      'echo why >&2; false: exit code 1: why\n',
    ])
    const [problem] = await take(command('echo "block seven"', 'block 7'))
    expect(problem).toContain('not\nblock 7\nbut\nblock seven')
  })

  it('are all commands of docs/dapps', () => {
    const steps = ['viem', 'foundry'].flatMap((page) => documentedSteps(`docs/dapps/${page}.md`))
    const files = steps.flatMap((step) => (step.kind === 'file' ? [step.name] : []))
    expect(files).toEqual(['chains.mjs', 'clients.mjs', 'transfer.mjs', 'deposit.mjs', 'withdraw.mjs'])
    expect(steps.length - files.length).toBeGreaterThan(25)
  })
})
