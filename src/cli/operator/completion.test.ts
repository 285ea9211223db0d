import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../../bin/devium.mjs', import.meta.url))

/** By shell: the completions that it offers for the last word. */
const COMPLETERS: Readonly<Record<string, (words: readonly string[], script: string) => string>> = {
  bash(words, script) {
    const state = `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}`
    return run('bash', ['-s'], `${script}\n${state}; _devium; printf '%s\\n' "\${COMPREPLY[@]}"`)
  },
  // zsh's completion system needs a terminal. This stub returns the words that begin with the last word.
  zsh(words, script) {
    const state = `words=(${quoted(words)}); CURRENT=${words.length}`
    const system = `compdef() { : }
compadd() { shift; print -rl -- \${(M)@:#\${(b)words[CURRENT]}*} }
_files() { : }`
    return run('zsh', ['-f', '-s'], `${system}\n${script}\n${state}; _devium\n`)
  },
  fish: (words, script) => run('fish', ['--no-config', '-c', `${script}\ncomplete -C '${words.join(' ')}'`], ''),
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' ')
}

function run(shell: string, args: readonly string[], input: string): string {
  return execFileSync(shell, args, { input, encoding: 'utf8' })
}

describe('devium completion', () => {
  it.for(Object.entries(COMPLETERS))('%s completes commands and flags of all programs', ([shell, offered], context) => {
    context.skip(spawnSync(shell, ['--version']).error !== undefined, `${shell} is not installed`)
    const script = execFileSync(process.execPath, [SCRIPT, 'completion', shell], { encoding: 'utf8' })
    const complete = (...words: string[]) => offered(words, script).trim().split('\n').sort()
    expect(complete('devium', 'seq')).toEqual(['sequencer'])
    expect(complete('devium', 'watch', '--rp')).toEqual(['--rpc'])
    expect(complete('/usr/bin/devium', 'sequencer', 'st')).toEqual(['start', 'status', 'stop'])
    expect(complete('devium', 'p2p', 'bans', '--t')).toEqual(['--token-file'])
    expect(complete('devium--batcher', '--sequencer.e')).toEqual(['--sequencer.enabled'])
    expect(complete('devium-node', '--sequencer.e')).toEqual(['--sequencer.enabled'])
    expect(complete('devium-geth', 'imp')).toEqual(['import'])
    expect(complete('devium-batch-submitter', '--l1-eth')).toEqual(['--l1-eth-rpc'])
  })

  it('lists the supported shells', () => {
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT, 'completion', 'tcsh'], { encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr).toContain('unknown shell "tcsh": expected one of bash, zsh, fish')
  })
})
