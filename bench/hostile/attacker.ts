import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { socketOf, startHostileHost } from '../../src/p2p/testUtils/hostileHost.ts'
import { TOPIC } from '../../src/p2p/testUtils/testChain.ts'
import { ATTACKS, type Attack, type Session } from './attacks.ts'
import { nowMs } from './figures.ts'

/** A new identity costs a new address, and some time. */
const NEW_IDENTITY_MS = 2_000

/** What the attacker did. */
export interface AttackReport {
  identities: number
  stepsPerS: number
  /** Megabytes a second that it sent over gossip's connection. */
  mbPerS: number
}

type ToAttacker = { kind: 'attack'; name: string; address: string } | { kind: 'stop' }

export interface Attacker {
  begin(name: string, address: string): void
  end(): Promise<AttackReport>
  stop(): void
}

/** In life it has a machine of its own: here it gets what the other processes leave. */
export function startAttacker(file: string, execArgv: readonly string[]): Attacker {
  const idle = ['-i', '0', process.execPath]
  const hasIdleClass = spawnSync('chrt', [...idle, '--version']).status === 0
  const child: ChildProcess = fork(file, ['--role=attacker'], {
    ...(hasIdleClass ? { execPath: 'chrt', execArgv: [...idle, ...execArgv] } : { execArgv: [...execArgv] }),
    serialization: 'advanced',
  })
  if (!hasIdleClass) console.warn('no chrt: the attacker takes CPU time from its victim')
  const tell = (message: ToAttacker): void => void child.send(message)
  return {
    begin: (name, address) => tell({ kind: 'attack', name, address }),
    end() {
      const report = new Promise<AttackReport>((resolve) => child.once('message', resolve))
      tell({ kind: 'stop' })
      return report
    },
    stop: () => child.disconnect(),
  }
}

/** Does as the parent says until it lets go. */
export function runAttacker(): void {
  let stop: (() => Promise<AttackReport>) | undefined
  process.on('message', async (message: ToAttacker) => {
    if (message.kind === 'attack') {
      const attack = ATTACKS[message.name]
      if (attack !== undefined) stop = wage(attack, message.address)
      return
    }
    process.send?.(await stop?.())
  })
  process.on('disconnect', () => process.exit())
  process.on('uncaughtException', () => {})
  process.on('unhandledRejection', () => {})
}

function wage(attack: Attack, address: string): () => Promise<AttackReport> {
  const startMs = nowMs()
  let isOver = false
  let count = 0
  let identities = 0
  let sentBytes = 0
  const attackAs = async (session: Session): Promise<void> => {
    await attack.begin?.(session)
    for (; !isOver; count++) {
      try {
        await attack.step(session, count)
      } catch {
        // A stream that is refused discourages nobody.
      }
      if (session.connection.status !== 'open') throw new Error('dropped')
      await pause(attack.everyMs)
    }
  }
  const loop = async (): Promise<void> => {
    while (!isOver) {
      identities += 1
      const hostile = await startHostileHost({ localIp: nextIp() })
      try {
        const gossip = await hostile.join(address, [TOPIC])
        const session: Session = { hostile, address, gossip, connection: gossip.connection }
        await attackAs(session).finally(() => {
          sentBytes += socketOf(session.connection).bytesWritten
        })
      } catch {
        if (!isOver) await pause(NEW_IDENTITY_MS)
      }
      attack.end?.(hostile)
      await hostile.stop().catch(() => {})
    }
  }
  const done = loop()
  return async () => {
    const seconds = (nowMs() - startMs) / 1_000
    isOver = true
    await done
    return { identities, stepsPerS: count / seconds, mbPerS: sentBytes / 1e6 / seconds }
  }
}

let addresses = 0
/** Of a former attack's address little good is known. */
function nextIp(): string {
  addresses += 1
  return `127.0.${1 + Math.floor(addresses / 250)}.${1 + (addresses % 250)}`
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs))
}
