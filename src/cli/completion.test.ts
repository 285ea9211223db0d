import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../bin/devium.mjs', import.meta.url))

it('bash completes sub-commands and flags of all four programs', () => {
  const script = execFileSync(process.execPath, [SCRIPT, 'completion', 'bash'], { encoding: 'utf8' })
  const complete = (...words: string[]): string[] => {
    const state = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`
    const input = `${script}\n${state}; _devium; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-s'], { input, encoding: 'utf8' }).trim().split('\n')
  }
  expect(complete('devium', 'seq')).toEqual(['sequencer'])
  expect(complete('/usr/bin/devium', 'sequencer', 'st')).toEqual(['status', 'start', 'stop'])
  expect(complete('devium', 'p2p', 'bans', '--t')).toEqual(['--token-file'])
  expect(complete('devium--batcher', '--sequencer.e')).toEqual(['--sequencer.enabled'])
  expect(complete('devium-geth', 'imp')).toEqual(['import'])
  expect(complete('devium-batch-submitter', '--l1-eth')).toEqual(['--l1-eth-rpc'])
})
