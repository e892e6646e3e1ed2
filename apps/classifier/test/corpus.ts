/**
 * Sixty labelled documents in Portuguese, written by hand, for a measurement of the local classifier: in each category five documents that
 * name the category, three that do not, and two that name another category.
 */

export const corpusCategories = ['Contrato', 'Nota fiscal', 'Petição', 'Procuração', 'Recibo', 'Outros']

export interface Labelled {
  text: string
  category: string
  kind: 'named' | 'unnamed' | 'misleading'
}

const named: Record<string, string[]> = {
  Contrato: [
    'CONTRATO DE LOCAÇÃO RESIDENCIAL. O locador cede ao locatário o imóvel da Rua das Flores, 10, por trinta meses.',
    'Pelo presente contrato de prestação de serviços, a contratada obriga-se a manter os elevadores do edifício.',
    'Segundo aditivo aos contratos firmados em 2023: o preço passa a R$ 4.000,00 por mês.',
    'Contrato social da sociedade limitada Padaria Sol: capital de R$ 50.000,00 dividido em quotas.',
    'As partes do contrato de compra e venda do veículo elegem o foro de Curitiba.',
  ],
  'Nota fiscal': [
    'NOTA FISCAL ELETRÔNICA nº 1.204, série 1. Natureza da operação: venda de mercadoria. ICMS 18 %.',
    'DANFE, documento auxiliar da nota fiscal eletrônica. Chave de acesso 3519 0612.',
    'Nota Fiscal de Serviço: consultoria em março, ISS de 5 %, prefeitura de Recife.',
    'Seguem as notas fiscais do mês, com os respectivos valores de IPI.',
    'Nota fiscal de consumidor eletrônica, QR code no verso, total R$ 81,90.',
  ],
  Petição: [
    'PETIÇÃO INICIAL. Excelentíssimo Senhor Doutor Juiz de Direito da 2ª Vara Cível. Dos fatos. Dos pedidos.',
    'Requer a juntada desta petição aos autos e a intimação da parte contrária.',
    'As petições do autor foram protocoladas no prazo; pede deferimento.',
    'Petição de habilitação de crédito na recuperação judicial da empresa Alfa.',
    'Vem, por esta petição, contestar o laudo do perito.',
  ],
  Procuração: [
    'PROCURAÇÃO AD JUDICIA. O outorgante nomeia e constitui sua bastante procuradora a advogada Ana Lima.',
    'Procuração pública lavrada no 3º Tabelionato, com poderes para vender o imóvel.',
    'As procurações anexas conferem poderes especiais para transigir e dar quitação.',
    'Substabeleço, com reservas, os poderes da procuração que me foi outorgada.',
    'Revogação de procuração: fica sem efeito o mandato de 12 de maio.',
  ],
  Recibo: [
    'RECIBO. Recebi de João Souza a importância de R$ 1.200,00 referente ao aluguel de abril.',
    'Recibo de pagamento a autônomo, RPA nº 17, com retenção de INSS.',
    'Emitimos os recibos das mensalidades de janeiro a março.',
    'Recibo de férias do empregado, com o terço constitucional.',
    'Para clareza firmo este recibo de sinal na compra do automóvel.',
  ],
  Outros: [
    'Outros assuntos da semana: a copa do prédio e a pintura da garagem.',
    'Ata da assembleia; em outros temas, o síndico falou da piscina.',
    'Outros: cardápio do refeitório para a semana.',
    'Lista de ramais e outros telefones úteis.',
    'Convite para a festa junina, com outros avisos no mural.',
  ],
}

const unnamed: Record<string, string[]> = {
  Contrato: [
    'O locador entrega as chaves ao locatário, que pagará R$ 2.000,00 até o dia cinco de cada mês, com multa de 10 % por atraso.',
    'A prestadora manterá os servidores da tomadora por doze meses, renováveis, mediante R$ 8.000,00 mensais.',
    'Termo aditivo: prorroga-se a vigência até dezembro; as demais cláusulas seguem inalteradas.',
  ],
  'Nota fiscal': [
    'DANFE. Chave de acesso 3519 0612 3456. Destinatário: Mercado Bom Preço. Base de cálculo do ICMS: R$ 900,00.',
    'NFS-e 2024/88. Tomador: Clínica Vida. ISS retido: sim. Valor líquido R$ 1.900,00.',
    'CFOP 5102, NCM 8471.30.12, CST 000, quantidade 3, valor unitário R$ 2.100,00.',
  ],
  Petição: [
    'Excelentíssimo Senhor Juiz: o autor vem propor ação de cobrança pelos fatos e fundamentos que expõe. Termos em que pede deferimento.',
    'Requer a citação do réu e a condenação em honorários. Dá à causa o valor de R$ 10.000,00.',
    'Agravo de instrumento com pedido de efeito suspensivo contra a decisão de fls. 30.',
  ],
  Procuração: [
    'O outorgante confere ao outorgado poderes para representá-lo perante o Detran.',
    'Substabelecimento: transfiro, sem reservas, os poderes a mim conferidos nos autos.',
    'Nomeio minha irmã para movimentar a conta corrente em meu nome até dezembro.',
  ],
  Recibo: [
    'Recebi de Maria Alves R$ 350,00 pela faxina de sábado e dou plena quitação.',
    'Comprovante de pagamento: PIX de R$ 90,00 para Oficina do Zé, autenticação 77AB.',
    'Quitação: declaro ter recebido a última parcela do empréstimo.',
  ],
  Outros: [
    'Receita de bolo de cenoura: três ovos, duas xícaras de açúcar.',
    'Horário dos ônibus da linha 12 aos domingos.',
    'Manual da cafeteira: encha o reservatório até a marca.',
  ],
}

const misleading: Record<string, string[]> = {
  Contrato: [
    'Locação por 30 meses. O locatário receberá recibo de cada pagamento; sem o recibo o pagamento não vale.',
    'Prestação de serviços: a cada mês a contratada emite nota fiscal, paga em dez dias após a nota fiscal.',
  ],
  'Nota fiscal': [
    'DANFE. Informações complementares: conforme contrato 12/2024, item 3 do contrato.',
    'NFS-e. Descrição: elaboração de petição e de procuração para o cliente.',
  ],
  Petição: [
    'Excelentíssimo Juiz: o réu descumpriu o contrato; requer a rescisão do contrato e perdas e danos.',
    'O autor junta a procuração e pede a citação do réu.',
  ],
  Procuração: [
    'O outorgante confere poderes para assinar contrato de compra e venda e rescindir contrato.',
    'Poderes para receber valores e passar recibo, dando quitação por recibo.',
  ],
  Recibo: [
    'Recebi R$ 500,00 como sinal do contrato de compra do carro e dou quitação.',
    'Recebi os honorários pela petição inicial do processo 123, de que dou quitação.',
  ],
  Outros: [
    'Curso de redação jurídica: como escrever uma petição clara; petição não é romance.',
    'Anúncio: fazemos todo tipo de contrato, ligue já.',
  ],
}

const labelled = (kind: Labelled['kind'], of: Record<string, string[]>): Labelled[] =>
  Object.entries(of).flatMap(([category, texts]) => texts.map(text => ({ text, category, kind })))

export const corpus: readonly Labelled[] = [
  ...labelled('named', named),
  ...labelled('unnamed', unnamed),
  ...labelled('misleading', misleading),
]
