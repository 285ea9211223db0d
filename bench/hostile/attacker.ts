import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { type AttackReport, wage } from '../../src/p2p/hostile/wage.ts'
import { TOPIC } from '../../src/p2p/testUtils/testChain.ts'
import { ATTACKS } from './attacks.ts'

type ToAttacker = { kind: 'attack'; name: string; address: string } | { kind: 'stop' }

export interface Attacker {
  begin(name: string, address: string): void
  end(): Promise<AttackReport>
  stop(): void
}

/** Starts the attacker with low priority. A real attacker has its own machine. */
export function startAttacker(file: string, execArgv: readonly string[]): Attacker {
  const idle = ['-i', '0', process.execPath]
  const hasIdleClass = spawnSync('chrt', [...idle, '--version']).status === 0
  const child: ChildProcess = fork(file, ['--role=attacker'], {
    ...(hasIdleClass ? { execPath: 'chrt', execArgv: [...idle, ...execArgv] } : { execArgv: [...execArgv] }),
    serialization: 'advanced',
  })
  if (!hasIdleClass) console.warn('no chrt: the attacker takes CPU time from its victim')
  const send = (message: ToAttacker): void => void child.send(message)
  return {
    begin: (name, address) => send({ kind: 'attack', name, address }),
    end() {
      const report = new Promise<AttackReport>((resolve) => child.once('message', resolve))
      send({ kind: 'stop' })
      return report
    },
    stop: () => child.disconnect(),
  }
}

/** Runs the parent's commands until the parent disconnects. */
export function runAttacker(): void {
  let stop: (() => Promise<AttackReport>) | undefined
  process.on('message', async (message: ToAttacker) => {
    if (message.kind === 'attack') {
      const attack = ATTACKS[message.name]
      if (attack !== undefined) stop = wage(attack, { address: message.address, topic: TOPIC, localIp: nextIp })
      return
    }
    process.send?.(await stop?.())
  })
  process.on('disconnect', () => process.exit())
  process.on('uncaughtException', () => {})
  process.on('unhandledRejection', () => {})
}

let addresses = 0
/** A new address for each attack, because the old one has a bad score. */
function nextIp(): string {
  addresses += 1
  return `127.0.${1 + Math.floor(addresses / 250)}.${1 + (addresses % 250)}`
}
