interface Node {
  readonly type: string
  readonly [member: string]: unknown
}

const LOG_LEVELS: ReadonlySet<unknown> = new Set(['trace', 'debug', 'info', 'warn', 'error'])

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

function isLogCall({ type, callee, expression }: Node): boolean {
  if (type === 'ExpressionStatement') return isNode(expression) && isLogCall(expression)
  if (type !== 'CallExpression' || !isNode(callee) || !isNode(callee.property) || !isNode(callee.object)) return false
  const logger = isNode(callee.object.property) ? callee.object.property : callee.object
  const name = isNode(logger.id) ? logger.id.name : logger.name
  return LOG_LEVELS.has(callee.property.name) && (name === 'log' || name === 'logger')
}

const isSentence = ({ type, value, quasis }: Node): boolean =>
  (type === 'StringLiteral' && String(value).includes(' ')) ||
  (type === 'TemplateLiteral' &&
    Array.isArray(quasis) &&
    quasis.some((part) => isNode(part) && JSON.stringify(part.value).includes(' ')))

/** Leaves out sentences for people and lines of the log: a test that asserts them only repeats their words. */
export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'words',
    value: {
      shouldIgnore: ({ node }: { readonly node: Node }) =>
        isLogCall(node) || isSentence(node) ? 'words for people' : undefined,
    },
  },
]
