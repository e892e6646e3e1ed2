drop table documents.documents;
