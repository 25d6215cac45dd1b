import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { namedStatements } from './queries';

const SRC = path.join(__dirname, '../../src');

/** A file of src: its declarations, and what it imports from others, by name. */
interface Source {
  declared: Map<string, ts.Node>;
  imported: Map<string, { file: string; name: string }>;
}

/** What a declaration leads to: `name` of a file, or a method of the class with that name. */
type Visit = (file: string, name: string, method?: string) => void;

/** What answers an endpoint: a method of a controller in this file, and the named statements that it leads to. */
interface Handler {
  file: string;
  statements: string[];
}

/**
 * The methods of all controllers, by the ids of their operations, such as `pools_list`. Only names are followed:
 * `this.x.method()` to the class of `x`, functions and constants to their declarations. Guards are left out.
 */
export async function handlers(): Promise<Map<string, Handler>> {
  const named = new Map<string, string[]>();
  for (const { file, exported, statement } of [...(await namedStatements()).values()].flat()) {
    const key = `${file.slice('src/'.length)} ${exported}`;
    named.set(key, [...(named.get(key) ?? []), statement.name]);
  }
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.spec)\.ts$/.test(file),
  );
  const sources = new Map<string, Source>();
  const sourceOf = (file: string): Source => {
    const known = sources.get(file) ?? parse(file);
    sources.set(file, known);
    return known;
  };

  const reachedFrom = (startFile: string, startClass: string, startMethod: string): string[] => {
    const seen = new Set<string>();
    const found = new Set<string>();
    const visit: Visit = (file, name, method) => {
      const imported = sourceOf(file).imported.get(name);
      if (imported) return visit(imported.file, imported.name, method);
      const key = `${file} ${name}${method ? `.${method}` : ''}`;
      if (seen.has(key)) return;
      seen.add(key);
      const statements = method === undefined ? named.get(key) : undefined;
      if (statements) return statements.forEach((each) => found.add(each));
      const declaration = sourceOf(file).declared.get(name);
      if (declaration && ts.isClassDeclaration(declaration)) {
        const body = membersOf(declaration, sourceOf(file)).find((each) => each.name?.getText() === method);
        if (body) follow(body, declaration, file, visit);
      } else if (declaration) follow(declaration, undefined, file, visit);
    };
    visit(startFile, startClass, startMethod);
    return [...found].sort();
  };

  const found = new Map<string, Handler>();
  for (const file of files)
    for (const [, name] of readFileSync(path.join(SRC, file), 'utf8').matchAll(
      /^export class (\w+)Controller\b/gm,
    )) {
      const controller = sourceOf(file).declared.get(`${name}Controller`) as ts.ClassDeclaration;
      for (const method of membersOf(controller, sourceOf(file)).flatMap(
        (each) => each.name?.getText() ?? [],
      ))
        found.set(`${name.toLowerCase()}_${method}`, {
          file: `src/${file}`,
          statements: reachedFrom(file, `${name}Controller`, method),
        });
    }
  return found;
}

/** The members of a class, with those of the class in the function that it extends: `class A extends shared(…)`. */
function membersOf(
  { members, heritageClauses }: ts.ClassDeclaration,
  { declared }: Source,
): ts.ClassElement[] {
  const base = heritageClauses?.[0].types[0].expression;
  const made = base && ts.isCallExpression(base) ? declared.get(base.expression.getText()) : undefined;
  const shared =
    made && ts.isFunctionDeclaration(made) ? made.body?.statements.find(ts.isClassDeclaration) : undefined;
  return [...members, ...(shared?.members ?? [])];
}

/** Visits what the node names, but for types and decorators. `owner` is the class around it. */
function follow(node: ts.Node, owner: ts.ClassDeclaration | undefined, file: string, visit: Visit): void {
  if (ts.isTypeNode(node) || ts.isDecorator(node)) return;
  // A statement that is a part of another one is not asked itself.
  if (ts.isCallExpression(node) && node.expression.getText() === 'partOf') return;
  if (ts.isPropertyAccessExpression(node)) {
    const { expression, name } = node;
    const { kind } = expression;
    if (kind === ts.SyntaxKind.ThisKeyword) return owner && visit(file, owner.name!.text, name.text);
    const property =
      ts.isPropertyAccessExpression(expression) && expression.expression.kind === ts.SyntaxKind.ThisKeyword
        ? expression.name.text
        : undefined;
    const type = property === undefined ? undefined : typeOf(owner, property);
    if (type) return visit(file, type, name.text);
    if (ts.isIdentifier(expression)) visit(file, expression.text, name.text);
    return follow(expression, owner, file, visit);
  }
  if (ts.isIdentifier(node)) return visit(file, node.text);
  ts.forEachChild(node, (child) => follow(child, owner, file, visit));
}

/** The class of a property, by the parameters of the constructor. */
function typeOf(owner: ts.ClassDeclaration | undefined, property: string): string | undefined {
  const parameter = owner?.members
    .filter(ts.isConstructorDeclaration)
    .flatMap(({ parameters }) => [...parameters])
    .find(({ name }) => name.getText() === property);
  return parameter?.type && ts.isTypeReferenceNode(parameter.type)
    ? parameter.type.typeName.getText()
    : undefined;
}

function parse(file: string): Source {
  const text = readFileSync(path.join(SRC, file), 'utf8');
  const source: Source = { declared: new Map(), imported: new Map() };
  for (const each of ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true).statements) {
    if (ts.isImportDeclaration(each)) {
      const target = (each.moduleSpecifier as ts.StringLiteral).text;
      const bindings = each.importClause?.namedBindings;
      if (!/^[#.]/.test(target) || !bindings || !ts.isNamedImports(bindings)) continue;
      const from = target.startsWith('#') ? target.slice(1) : path.join(path.dirname(file), target);
      for (const { name, propertyName } of bindings.elements)
        source.imported.set(name.text, { file: `${from}.ts`, name: (propertyName ?? name).text });
    } else if (ts.isVariableStatement(each))
      for (const declaration of each.declarationList.declarations)
        source.declared.set(declaration.name.getText(), declaration);
    else if ((ts.isClassDeclaration(each) || ts.isFunctionDeclaration(each)) && each.name)
      source.declared.set(each.name.text, each);
  }
  return source;
}
