import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { startChild } from './calls.ts'
import type { JoinCalls } from './joinProcess.ts'
import { type Rival, type RivalOptions, rivalArguments, rivalFigures } from './rival.ts'

export interface JoinFigures {
  /** Milliseconds of our processor time for each block. */
  cpuPerBlock: number
  /** The host's other processor time between two blocks. */
  idlePerBlock: number
  /** Average of one of the rival's hosts, both shares together. */
  rivalCpuPerBlock: number
  copies: number
  loopDelayP99: number
  missed: number
}

/** One of our hosts with all the rival's hosts as peers, which publish. */
export async function runJoin(rival: Rival, options: RivalOptions & { warmup: number }): Promise<JoinFigures> {
  const child = startChild<JoinCalls>(new URL('./joinProcess.ts', import.meta.url))
  try {
    const address = await child.call('open')
    const { blocks, warmup, hosts } = options
    const program = spawn(rival.path, [...rivalArguments({ ...options, blocks: blocks + warmup }), '-join', address], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const exited = once(program, 'exit')
    const lines: string[] = []
    for await (const line of createInterface({ input: program.stdout })) {
      lines.push(line)
      if (lines.length > 1) continue
      const { signer }: { signer: string } = JSON.parse(line)
      await child.call('expect', { signer, warmup })
    }
    await exited
    const result = await child.call('result')
    return {
      cpuPerBlock: result.cpuPerBlock - result.idlePerBlock,
      idlePerBlock: result.idlePerBlock,
      rivalCpuPerBlock: rivalFigures(lines.join('\n')).cpuPerBlock / hosts,
      copies: result.copies,
      loopDelayP99: result.loopDelayP99,
      missed: blocks - result.blocks,
    }
  } finally {
    await child.stop()
  }
}
